/** The words of a page without its markup, every space once. */
export function wordsOf(page: string): string {
  return page
    .replace(/<style>.*?<\/style>|<script>.*?<\/script>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}
