/*
 * Refreshes a page: fetches it and replaces what changed in `main`, which keeps the scroll position, the focus and what is
 * unfolded. Waits while the page is hidden, text in it is selected, a form is in use or a question (`details.ask`) is open, and
 * shows when the daemon does not answer. Escape closes a question.
 */
(() => {
  const main = document.querySelector('main');
  const refreshMs = Number(main.dataset.refreshSeconds) * 1000;
  const questions = 'details.ask[open]';
  const isBusy = () =>
    document.hidden ||
    getSelection()?.type === 'Range' ||
    main.querySelector(questions) ||
    document.activeElement?.closest('main form');
  const regions = 'details, [tabindex="0"]';
  const links = 'a[href], summary, button, [tabindex="0"]';
  const within = (root, selector) =>
    [root, ...root.querySelectorAll(selector)].filter((each) => each.matches(selector));
  const isLike = (one, other) =>
    other && one.tagName === other.tagName && one.getAttribute('href') === other.getAttribute('href');
  const replace = (old, next) => {
    const active = old.contains(document.activeElement) ? document.activeElement : undefined;
    const place = active && within(old, links).indexOf(active);
    const kept = within(old, regions).map(({ open, scrollTop, scrollLeft }) => ({ open, scrollTop, scrollLeft }));
    old.replaceWith(next);
    const news = within(next, regions);
    if (news.length === kept.length)
      news.forEach((each, at) => {
        if (kept[at].open) each.open = true;
        each.scrollTop = kept[at].scrollTop;
        each.scrollLeft = kept[at].scrollLeft;
      });
    if (!active) return;
    const others = within(next, links);
    const same = isLike(active, others[place]) ? others[place] : others.find((each) => isLike(active, each));
    same?.focus({ preventScroll: true });
  };
  const refresh = async () => {
    if (isBusy()) return;
    try {
      const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(10000) });
      if (answer.status === 401) return location.reload();
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = next.querySelector('main');
      if (!fresh) throw new Error('no page');
      document.body.classList.remove('stale');
      if (isBusy()) return;
      const [olds, news] = [[...main.children], [...fresh.children]];
      if (olds.length === news.length)
        olds.forEach((old, at) => {
          if (!old.matches('form') && !old.isEqualNode(news[at])) replace(old, news[at]);
        });
      else main.replaceChildren(...news);
      document.title = next.title;
    } catch {
      document.body.classList.add('stale');
    }
  };
  const again = () => setTimeout(() => refresh().finally(again), refreshMs);
  again();
  document.addEventListener('visibilitychange', refresh);
  document.addEventListener('keydown', ({ key }) => {
    const question = key === 'Escape' && main.querySelector(questions);
    if (!question) return;
    question.open = false;
    question.querySelector('summary').focus();
  });
})();
