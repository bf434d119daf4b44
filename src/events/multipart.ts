/** A named part of a multipart body (RFC 7578), as a form holds it. */
export type Pair = readonly [name: string, value: string];

/** The first line that looks like a boundary and has the head of a part below it; lines before it are a preamble. */
const firstPart = /(?:^|\n)--([^\r\n]{1,200}?)[ \t]*\r?\n(?:[^\r\n]+\r?\n){0,8}?content-disposition:\s*form-data\b/i;

/** The named parts of a multipart body that are text, or undefined when it is none. The body tells its own boundary. */
export function readMultipart(text: string): Pair[] | undefined {
  const [, boundary] = firstPart.exec(text) ?? [];
  if (boundary === undefined) return undefined;
  return `\n${text}`
    .split(`\n--${boundary}`)
    .slice(1)
    .flatMap((part) => {
      const [, head = '', value = ''] = /^[ \t]*\r?\n([\s\S]*?)\r?\n\r?\n([\s\S]*?)\r?$/.exec(part) ?? [];
      const name = /^content-disposition:[^\r\n]*[;\s]name="?([^"\r\n;]+)"?/im.exec(head)?.[1];
      return name === undefined || value.includes('\u0000') ? [] : [[name, value] as const];
    });
}
