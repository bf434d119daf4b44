/** A named part of a multipart body (RFC 7578), as a form holds it. */
export type Pair = readonly [name: string, value: string];

const maxBoundary = 200;
/** Lines that may stand between a boundary and the `Content-Disposition` of its part. */
const maxHeadLines = 8;
const disposition = /content-disposition:[ \t]{0,20}\r?\n?[ \t]{0,20}form-data\b/iy;

/** The named parts of a multipart body that are text, or undefined when it is none. The body tells its own boundary. */
export function readMultipart(text: string): Pair[] | undefined {
  const boundary = boundaryOf(text);
  if (boundary === undefined) return undefined;
  return `\n${text}`
    .split(`\n${boundary}`)
    .slice(1)
    .flatMap((part) => {
      const [, head = '', value = ''] = /^[ \t]*\r?\n([\s\S]*?)\r?\n\r?\n([\s\S]*?)\r?$/.exec(part) ?? [];
      const name = /^content-disposition:[^\r\n]*[;\s]name="?([^"\r\n;]+)"?/im.exec(head)?.[1];
      return name === undefined || value.includes('\u0000') ? [] : [[name, value] as const];
    });
}

/**
 * The first line that begins with `--` and has the head of a part below it; lines before it are a preamble. Each line is
 * read once, whatever the body holds.
 */
function boundaryOf(text: string): string | undefined {
  let candidates: { readonly line: string; readonly number: number }[] = [];
  let number = 0;
  for (let start = 0; start < text.length; number += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    disposition.lastIndex = start;
    if (candidates.length > 0 && disposition.test(text)) {
      const first = candidates.find((each) => number - each.number <= maxHeadLines + 1);
      if (first !== undefined) return first.line;
    }
    const isBlank = end === start || (end === start + 1 && text[start] === '\r');
    if (isBlank) candidates = [];
    else if (text.startsWith('--', start)) {
      const line = text.slice(start, Math.min(end, start + maxBoundary + 3)).trimEnd();
      if (line.length > 2 && line.length <= maxBoundary + 2) {
        candidates.push({ line, number });
        if (candidates.length > maxHeadLines + 1) candidates.shift();
      }
    }
    start = end + 1;
  }
  return undefined;
}
