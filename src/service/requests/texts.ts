/** Characters of a subscription's address (section 8). */
const longestUrl = 1_024;

/** Why `comment` cannot be an internal note (section 4.2). */
export function commentFault(comment: string | undefined): string | undefined {
  return comment === '' ? '`comment` is empty: write something, or leave it out (section 4.2)' : undefined;
}

/** Why events cannot be delivered to `url` (section 2.12). It is not quoted: it may hold a token. */
export function urlFault(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const { length } = [...url];
  if (length > longestUrl) {
    return `\`url\` has ${length} characters and ${longestUrl} is the most: choose a shorter one (section 8)`;
  }
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  return isHttp ? undefined : '`url` should be a whole address that begins with http:// or https:// (section 2.12)';
}
