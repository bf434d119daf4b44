/** Whether a text looks like a call id (section 2.9), such as 1783385492.057900. */
export function isCallId(text: string): boolean {
  return /^\d{9,11}\.\d{1,12}$/.test(text);
}
