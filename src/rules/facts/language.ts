/**
 * The language of a text as a code such as `es`; null when the text does not show it, as "ok" does not. Its detector takes
 * some 150 MB of memory, so it is loaded with the first text.
 */
export async function languageOf(text: string): Promise<string | null> {
  const { eld } = await import('eld/small');
  const result = eld.detect(text);
  return result.isReliable() ? result.language : null;
}
