/** How often the page asks for itself, in seconds. */
export const refreshSeconds = 5;

/**
 * Keeps the page current: fetches it and swaps what is inside `main`, so that nothing flickers and the scroll position
 * stays. It rests while the page is hidden or text in it is selected, and says so when the daemon does not answer.
 */
export const script = `
(() => {
  const refresh = async () => {
    if (document.hidden || getSelection()?.type === 'Range') return;
    try {
      const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(10000) });
      if (answer.status === 401) return location.reload();
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const main = next.querySelector('main');
      if (!main) throw new Error('no page');
      document.querySelector('main').replaceChildren(...main.childNodes);
      document.title = next.title;
      document.body.classList.remove('stale');
    } catch {
      document.body.classList.add('stale');
    }
  };
  const again = () => setTimeout(() => refresh().finally(again), ${refreshSeconds * 1_000});
  again();
  document.addEventListener('visibilitychange', refresh);
})();
`;
