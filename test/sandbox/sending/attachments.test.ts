import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { validate } from '../../../src/sandbox/http/api.ts';
import { attachmentList, contentTypeOf } from '../../../src/sandbox/sending/request.ts';

const photo = { filename: 'photo.png', contentType: 'image/png', content: 'aGVsbG8=' };

/** What the 400 would say. */
function problemOf(attachments: unknown[]): string | undefined {
  try {
    validate(z.object({ attachments: attachmentList }), { attachments });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const problemWith = (change: Partial<typeof photo>) => problemOf([photo, { ...photo, ...change }]);

test.each([
  'a.png',
  'A.PNG',
  'holiday photo.jpeg',
  `a${' '.repeat(300)}.png`,
  'archive.tar.gz',
  'folder/photo.bmp',
  '.hidden.gif',
  'שלום.jpg',
  'a..png',
])('the name %j is taken', (filename) => {
  expect(problemWith({ filename })).toBeUndefined();
});

test.each([
  '',
  'photo',
  '.gitignore',
  '.png',
  '..png',
  ' .png',
  'photo.',
  'photo.png ',
  'folder.d/photo',
  'C:\\a.d\\photo',
])('the name %j carries no extension', (filename) => {
  expect(problemWith({ filename })).toBe('attachments[1].filename: must carry an extension such as "photo.jpg"');
});

test.each(['image/jpeg', 'image/png', 'image/bmp', 'image/gif'])('%s is taken', (contentType) => {
  expect(problemWith({ contentType })).toBeUndefined();
});

test.each(['QQ==', 'QUE=', 'QUFB', '+/+/'])('the content %j is taken', (content) => {
  expect(problemWith({ content })).toBeUndefined();
});

test.each([
  ['without padding', 'QQ'],
  ['with too little padding', 'QQ='],
  ['with too much padding', 'Q==='],
  ['of padding alone', '===='],
  ['with padding inside', 'QQ==QUFB'],
  ['of the URL alphabet', '-_-_'],
  ['with a line break', 'QUFB\nQUE'],
  ['with a space', 'QUF '],
  ['as a data URL', 'data:image/png;base64,QUFB'],
])('content %s is refused', (_, content) => {
  expect(problemWith({ content })).toMatch(/^attachments\[1\]\.content: must be standard base64/);
});

test('what any encoder writes is taken, and what no decoder reads back is not', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
      expect(problemWith({ content: Buffer.from(bytes).toString('base64') })).toBeUndefined();
    }),
  );
  const almost = fc.string({ unit: fc.constantFrom(...'AQw+/=-_ \n'), minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(almost, (content) => {
      // Bits that padding cuts off may be anything.
      const isRead = Buffer.from(content, 'base64').toString('base64').length === content.length;
      const isPlain = /^[AQw+/]+={0,2}$/.test(content) && content.length % 4 === 0;
      expect(problemWith({ content }) === undefined).toBe(isRead && isPlain);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['photo.jpg', 'image/jpeg'],
  ['photo.JPEG', 'image/jpeg'],
  ['photo.png', 'image/png'],
  ['photo.jpg.bmp', 'image/bmp'],
  ['photo.gif', 'image/gif'],
  ['page.html', 'application/octet-stream'],
  ['drawing.svg', 'application/octet-stream'],
  ['photo.constructor', 'application/octet-stream'],
  ['photo', 'application/octet-stream'],
])('%s is shown as %s', (filename, contentType) => {
  expect(contentTypeOf(filename)).toBe(contentType);
});
