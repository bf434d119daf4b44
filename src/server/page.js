/*
 * A live page fetches itself and replaces what changed in `main`, which keeps the scroll position and what is unfolded. It waits
 * while it is hidden, text in it is selected or a question is open, and shows when the daemon does not answer.
 */
const main = document.querySelector('main');
const refreshMs = Number(main.dataset.refreshSeconds) * 1000;
const isBusy = () =>
  document.hidden || getSelection()?.type === 'Range' || main.querySelector('details.ask[open]') !== null;

async function refresh() {
  if (isBusy()) return;
  try {
    const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(10000) });
    if (answer.status === 401) return location.reload();
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const [olds, news] = [[...main.children], [...next.querySelector('main').children]];
    document.body.classList.remove('stale');
    if (isBusy()) return;
    if (olds.length !== news.length) main.replaceChildren(...news);
    else for (const [at, old] of olds.entries()) if (!old.isEqualNode(news[at])) old.replaceWith(news[at]);
    document.title = next.title;
  } catch {
    document.body.classList.add('stale');
  }
}

if (refreshMs > 0) {
  const again = () => setTimeout(() => refresh().finally(again), refreshMs);
  again();
  document.addEventListener('visibilitychange', refresh);
}

/** Leaving asks while a form has what was typed and not sent. */
for (const form of document.querySelectorAll('form[data-unsaved]')) {
  let isChanged = form.dataset.unsaved === 'changed';
  form.addEventListener('input', () => {
    isChanged = true;
  });
  form.addEventListener('submit', () => {
    isChanged = false;
  });
  addEventListener('beforeunload', (event) => {
    if (isChanged) event.preventDefault();
  });
}
