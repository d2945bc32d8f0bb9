/**
 * The durable part of a puller: the units that it accepted and the reports that the other side has not acknowledged. Survives kill -9 and the loss of
 * power, because each call that changes it is one transaction that is synced before the call returns.
 */
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fault } from '@windlass/kit'
import { z } from 'zod'

/** Every call that writes throws `spool-full` if there is no space, and has changed nothing then. */
export interface Ledger {
  /** Stores units and returns the keys of those that were not stored yet. */
  accept(units: readonly { readonly key: string; readonly body: string }[]): Set<string>
  /** Whether a unit is open, or finished with an unsent report. */
  has(key: string): boolean
  /** Stores a report of an open unit. Returns false, and stores nothing, if the unit is not open. */
  report(key: string, report: string): boolean
  /** Closes an open unit, with a last report if there is one. Returns false if the unit is not open. */
  finish(key: string, report: string | undefined): boolean
  /** Returns the open units, oldest first. */
  open(): { readonly key: string; readonly body: string }[]
  /** Returns the oldest unsent report of each key, oldest first, without the keys in `except`. */
  unsent(limit: number, except: Iterable<string>): Report[]
  /** Removes a report that the other side acknowledged or refused, and its unit if that is closed and has no other report. */
  sent(report: Report): void
  /** Returns the number of unsent reports; 0 after `close`. */
  unsentCount(): number
  close(): void
}

export interface Report {
  readonly seq: number
  readonly key: string
  readonly body: string
}

export interface LedgerOptions {
  /** Folder of the ledger, used by one process at a time. Created if needed. */
  readonly dir: string
  /** Name of the setting of the folder, for messages. */
  readonly setting: string
  /** Maximum size, rounded to pages of 4 KiB. */
  readonly limitBytes: number
}

const FILE = 'work.sqlite'
const PAGE_BYTES = 4096
/** `secure_delete`: bodies may hold secrets of the work, which must not stay in free pages. */
const SETTINGS = `pragma page_size = ${PAGE_BYTES}; pragma journal_mode = wal; pragma synchronous = full;
  pragma busy_timeout = 5000; pragma secure_delete = on`
const SCHEMA = `
  create table if not exists unit (seq integer primary key autoincrement, key text not null unique, body text);
  create table if not exists report (seq integer primary key autoincrement, key text not null, body text not null);
  create index if not exists report_of_key on report (key, seq)`
/** Result code of SQLite for a full disk, and for a database that has its maximum size. */
const SQLITE_FULL = 13

const Unit = z.object({ key: z.string(), body: z.string() })
const ReportRow = z.object({ seq: z.int(), key: z.string(), body: z.string() })
const Count = z.object({ count: z.int() })

/** Opens the ledger of a folder. Throws `config-invalid` if it cannot be written. */
export function openLedger(options: LedgerOptions): Ledger {
  const db = openFile(options)
  const insert = db.prepare('insert or ignore into unit (key, body) values (?, ?)')
  const find = db.prepare('select count(*) as count from unit where key = ?')
  const findOpen = db.prepare('select count(*) as count from unit where key = ? and body is not null')
  const addReport = db.prepare('insert into report (key, body) values (?, ?)')
  const shut = db.prepare('update unit set body = null where key = ?')
  const forget = db.prepare(
    'delete from unit where key = ?1 and body is null and not exists (select 1 from report where key = ?1)',
  )
  const removeReport = db.prepare('delete from report where seq = ?')
  const allOpen = db.prepare('select key, body from unit where body is not null order by seq')
  // With min(), SQLite takes the other columns from the row that has the minimum.
  const heads = db.prepare(`select min(seq) as seq, key, body from report
    where key not in (select value from json_each(?)) group by key order by 1 limit ?`)
  const countReports = db.prepare('select count(*) as count from report')
  const isThere = (statement: typeof find, key: string): boolean => Count.parse(statement.get(key)).count > 0

  /** Runs a transaction. Rolls back if it fails, so that the next one can begin. */
  function write<T>(work: () => T): T {
    try {
      db.exec('begin immediate')
      const result = work()
      db.exec('commit')
      return result
    } catch (error) {
      if (db.isOpen && db.isTransaction) db.exec('rollback')
      throw isFull(error) ? full(options.dir, error) : error
    }
  }

  return {
    accept: (units) =>
      write(() => new Set(units.filter(({ key, body }) => insert.run(key, body).changes > 0).map(({ key }) => key))),
    has: (key) => isThere(find, key),
    report: (key, report) =>
      write(() => {
        if (!isThere(findOpen, key)) return false
        addReport.run(key, report)
        return true
      }),
    finish: (key, report) =>
      write(() => {
        if (!isThere(findOpen, key)) return false
        shut.run(key)
        if (report !== undefined) addReport.run(key, report)
        forget.run(key)
        return true
      }),
    open: () => allOpen.all().map((row) => Unit.parse(row)),
    unsent: (limit, except) => heads.all(JSON.stringify([...except]), limit).map((row) => ReportRow.parse(row)),
    sent: ({ seq, key }) =>
      write(() => {
        removeReport.run(seq)
        forget.run(key)
      }),
    unsentCount: () => (db.isOpen ? Count.parse(countReports.get()).count : 0),
    close: () => db.close(),
  }
}

function openFile({ dir, setting, limitBytes }: LedgerOptions): DatabaseSync {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const path = join(dir, FILE)
    const db = new DatabaseSync(path)
    db.exec(SETTINGS)
    db.exec(SCHEMA)
    db.exec(`pragma max_page_count = ${Math.ceil(limitBytes / PAGE_BYTES)}`)
    chmodSync(path, 0o600)
    return db
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    const message = `Accepted work cannot be stored in ${dir}: ${cause}.`
    throw fault('config-invalid', { message, hint: `Mount a writable folder and name it in ${setting}.` }, error)
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_FULL
}

function full(dir: string, cause: unknown): Error {
  const message = `Accepted work cannot be stored in ${dir}: there is no space.`
  return fault('spool-full', { message, hint: 'Free disk space, or check why reports are not acknowledged.' }, cause)
}
