import type { TerminalRecord } from '@windlass/protocol'
import { present } from '../builds/lifecycle/view.ts'
import type { TerminalRow } from '../store/schema/schema.ts'

/** Converts a terminal for the API. */
export function toRecord(row: TerminalRow): TerminalRecord {
  return {
    id: row.id,
    step: row.step,
    phase: row.phase,
    openedBy: row.opened_by,
    createdAt: row.created_at,
    inputSeq: row.in_seq,
    outputSeq: row.out_seq,
    ...present({ endedAt: row.ended_at, exitCode: row.exit_code }),
  }
}
