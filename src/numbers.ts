/** A phone number as the service normalises it (section 2.4): digits only, and a leading 1 before ten digits. */
export function normalizeNumber(text: string): string {
  const digits = text.replace(/\D/g, '');
  return digits.length === 10 ? `1${digits}` : digits;
}
