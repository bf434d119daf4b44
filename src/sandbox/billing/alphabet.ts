const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const punctuation = '@£$¥_!"#¤%&\'()*+,-./:;<=>?¡§¿ \n\r';
const accented = 'èéùìòàÇØøÅåÆæßÉÄÖÑÜäöñü';
const greek = 'ΔΦΓΛΩΠΨΣΘΞ';

/** The real alphabet lacks these; section 2.4 counts every e a i o u with grave or acute as GSM-7. */
const accentedBySpecification = 'áíóú';

const basic = new Set(letters + digits + punctuation + accented + greek + accentedBySpecification);

/** The nine of section 2.4, and the form feed: it stands in the same table of the real alphabet. */
const extension = new Set('[]{}\\^~|€\f');

/**
 * What a character costs in the GSM-7 alphabet (2.4): 1, or 2 for an extension character; undefined outside of it.
 * Composed letters only: a vowel followed by a combining accent is two characters, and the second is outside.
 */
export function gsm7Cost(character: string): 1 | 2 | undefined {
  if (basic.has(character)) return 1;
  return extension.has(character) ? 2 : undefined;
}
