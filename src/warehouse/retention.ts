/**
 * Whether content of this moment is older than its days in RETENTION_DAYS, so that no read may store it. A day has 24 hours. False
 * without days, and without a moment.
 */
export function isExpired(days: number | undefined, at: string | Date | null | undefined): boolean {
  if (days === undefined || at == null) return false;
  return new Date(at).getTime() < Date.now() - days * 86_400_000;
}
