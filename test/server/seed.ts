/** What a reader sees of the main part of a page, a line for each line there; a link is followed by its address. */
export function readable(page: string): string {
  return (/<main.*?<\/main>/s.exec(page)?.[0] ?? page)
    .replace(/<style>.*?<\/style>|<script>.*?<\/script>/gs, '')
    .replace(/\s+/g, ' ')
    .replace(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/g, '$2 [$1]')
    .replace(/<\/(?:p|li|tr|h\d|dd|summary|figcaption|legend)>|<br>/g, '\n')
    .replace(/<[^>]*>/g, ' ')
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
    .trim();
}
