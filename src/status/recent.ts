/** The outcome of `take`, for all who ask while it is taken and for so many milliseconds after. A failure is not kept. */
export function recent<T>(take: () => Promise<T>, keptMs: number): () => Promise<T> {
  let latest: Promise<T> | undefined;
  return () => {
    if (latest === undefined) {
      latest = take();
      const forget = () => {
        latest = undefined;
      };
      latest.then(() => setTimeout(forget, keptMs).unref(), forget);
    }
    return latest;
  };
}
