/** A named part of a multipart body (RFC 7578), as a form holds it. */
export type Pair = readonly [name: string, value: string];

/** The named parts of a multipart body that are text, or undefined when it is none. The body tells its own boundary. */
export function readMultipart(text: string): Pair[] | undefined {
  const [, boundary] = /^\s*--([^\r\n]{1,200})\r?\ncontent-disposition:\s*form-data\b/i.exec(text) ?? [];
  if (boundary === undefined) return undefined;
  return text
    .split(`--${boundary}`)
    .slice(1)
    .flatMap((part) => {
      const [, head = '', value = ''] = /^\r?\n([\s\S]*?)\r?\n\r?\n([\s\S]*?)(?:\r?\n)?$/.exec(part) ?? [];
      const name = /^content-disposition:[^\r\n]*[;\s]name="?([^"\r\n;]+)"?/im.exec(head)?.[1];
      return name === undefined || value.includes('\u0000') ? [] : [[name, value] as const];
    });
}
