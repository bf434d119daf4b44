/** The result of `attempt`, or `fallback()` after `ms` milliseconds. Ignores a later failure. */
export async function withTimeout<T, F>(ms: number, attempt: Promise<T>, fallback: () => F): Promise<T | F> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<'expired'>((resolve) => {
    timer = setTimeout(resolve, ms, 'expired');
  });
  try {
    const outcome = await Promise.race([attempt.then((value) => ({ value })), expiry]);
    return outcome === 'expired' ? fallback() : outcome.value;
  } finally {
    clearTimeout(timer);
    attempt.catch(() => undefined);
  }
}
