/**
 * The alphabet of section 2.4 as the standard prints it (3GPP TS 23.038: 128 places in order, the escape at 27), with
 * the four vowels that the specification adds.
 */
const places =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ' +
  ' !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§' +
  '¿abcdefghijklmnopqrstuvwxyzäöñüà';
export const basicCharacters = `${places.replace('\x1b', '')}áíóú`;
export const extensionCharacters = '[]{}\\^~|€\f';

/** What section 2.4 says of segments: the message as it goes over the air, cut with scissors. */
export function plainSegments(text: string): { encoding: string; units: number; segments: number } {
  let encoded = '';
  let isGsm7 = true;
  for (const character of text) {
    if (extensionCharacters.includes(character)) encoded += `\x1b${character}`;
    else if (basicCharacters.includes(character)) encoded += character;
    else isGsm7 = false;
  }
  if (!isGsm7) encoded = text;
  const pieces: string[] = [];
  const [single, split] = isGsm7 ? [160, 153] : [70, 67];
  const size = encoded.length <= single ? single : split;
  for (let at = 0; at < encoded.length; at += size) pieces.push(encoded.slice(at, at + size));
  return { encoding: isGsm7 ? 'gsm7' : 'ucs2', units: encoded.length, segments: pieces.length };
}
