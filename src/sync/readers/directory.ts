import { provenance, type TargetReader } from '../finding.ts';

/** Reads all users (section 4.5), and owes the next read to the directory's schedule. */
export const readUsers: TargetReader = async (claim, room, signal) => {
  const answer = await room.service.users.list({ signal });
  room.onAnswer('users.list', answer);
  const { data: users, isComplete } = answer;
  return {
    finding: { kind: 'users', read: { users, isComplete, read: provenance(claim, 'users.list') } },
    lookAgainSeconds: room.directoryEverySeconds,
  };
};

/** Reads all SMS lines (section 4.1), and owes the next read to the directory's schedule. */
export const readLines: TargetReader = async (claim, room, signal) => {
  const answer = await room.service.lines.list({ signal });
  room.onAnswer('lines.list', answer);
  const { data: lines, isComplete } = answer;
  return {
    finding: { kind: 'lines', read: { lines, isComplete, read: provenance(claim, 'lines.list') } },
    lookAgainSeconds: room.directoryEverySeconds,
  };
};
