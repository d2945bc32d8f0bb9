/** Maps errors of the database and of disks to faults. Used by the HTTP layer and by the sweeps. */
import { isFault, type FaultCode } from '@windlass/kit'

type StoreFault = Extract<FaultCode, 'unavailable' | 'storage-full' | 'conflict'>

/**
 * Codes of PostgreSQL (https://www.postgresql.org/docs/15/errcodes-appendix.html) and of the system. Transient are: broken or failed
 * connections (08), lack of resources (53), a server that stops or starts (57P0x), errors of its machine (58), a standby that is not promoted yet
 * (25006), a password that is being changed (28), timeouts (25P03, 55P03, 57014), and conflicts that outlast all retries (40).
 */
const BY_CODE: readonly (readonly [codes: RegExp, fault: StoreFault])[] = [
  [/^(53100|ENOSPC|EDQUOT)$/, 'storage-full'],
  [/^23505$/, 'conflict'],
  [/^(08...|53...|57P0.|58...|25006|25P03|28000|28P01|40001|40P01|55P03|57014)$/, 'unavailable'],
  [/^E(CONN(REFUSED|RESET|ABORTED)|PIPE|TIMEDOUT|NOTCONN|HOST(UNREACH|DOWN)|NET(UNREACH|DOWN)|ADDRNOTAVAIL)$/, 'unavailable'],
  [/^(ENOTFOUND|EAI_AGAIN|EIO|ESTALE|EROFS|EBUSY|EAGAIN|EMFILE|ENFILE|ENOMEM|ENOBUFS)$/, 'unavailable'],
]

/** Messages of errors that drivers throw without a code. */
const BY_MESSAGE =
  /Connection terminated|is not queryable|timeout exceeded when trying to connect|Query read timeout|driver has already been destroyed/

/** Primary codes of SQLite (https://www.sqlite.org/rescode.html): BUSY, LOCKED, NOMEM, READONLY, IOERR, CANTOPEN, PROTOCOL. */
const SQLITE_TRANSIENT = new Set([5, 6, 7, 8, 10, 14, 15])
const SQLITE_FULL = 13
/** CONSTRAINT_UNIQUE and CONSTRAINT_PRIMARYKEY. */
const SQLITE_UNIQUE = new Set([2067, 1555])

/** Returns the code of the fault for an error of the store; undefined for a bug. */
export function storeFaultOf(error: unknown): StoreFault | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return ofSqlite(error.errcode)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const known = BY_CODE.find(([codes]) => codes.test(code))
  return known?.[1] ?? (BY_MESSAGE.test(error.message) ? 'unavailable' : undefined)
}

/** Returns true for an error after which the same work may succeed later, because the store is temporarily unavailable. */
export function isTransient(error: unknown): boolean {
  if (isFault(error)) return error.retryable
  const code = storeFaultOf(error)
  return code !== undefined && code !== 'conflict'
}

function ofSqlite(code: number): StoreFault | undefined {
  if (SQLITE_UNIQUE.has(code)) return 'conflict'
  const primary = code & 0xff
  if (primary === SQLITE_FULL) return 'storage-full'
  return SQLITE_TRANSIENT.has(primary) ? 'unavailable' : undefined
}
