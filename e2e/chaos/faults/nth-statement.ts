/**
 * Fails the n-th statement that the store sends to its database. It wraps the drivers (`node:sqlite`, `pg`), so that the code of the project does not
 * know about it. For servers that run in this process.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite'
import pg from 'pg'

export interface StatementFault extends Disposable {
  /** Counts from now on; the n-th statement fails, once. 0 only counts. */
  arm(n: number): void
  /** Number of statements since `arm`. */
  readonly seen: number
  /** Whether the fault took effect. */
  readonly struck: string | undefined
}

/**
 * `before`: the statement is not executed. `after`: it is executed, and its response is lost (PostgreSQL only). `rolled back`: SQLite rolls the
 * transaction back by itself, as it does on a full disk (SQLite only). `unknown`: an error with an unknown code; PostgreSQL then rejects further
 * statements of the transaction.
 */
export type When = 'before' | 'after' | 'rolled back' | 'unknown'

/** The error of SQLite for a failed disk (https://www.sqlite.org/rescode.html#ioerr), or an error that it does not return today. */
class DiskError extends Error {
  readonly code = 'ERR_SQLITE_ERROR'
  readonly errcode: number
  readonly errstr: string

  constructor(when: When) {
    super(when === 'unknown' ? 'unknown error' : when === 'rolled back' ? 'database or disk is full' : 'disk I/O error')
    this.errcode = when === 'unknown' ? 99 : when === 'rolled back' ? 13 : 10
    this.errstr = this.message
  }
}

/** The error of pg for a lost connection. It does not show whether the statement was executed. */
class ConnectionError extends Error {
  readonly code = 'ECONNRESET'
}

/** Wraps the driver until it is disposed. Covers SQLite databases that are opened from then on. */
export function failStatements(driver: 'sqlite' | 'postgres', when: When = 'before'): StatementFault {
  let armed = 0
  let seen = 0
  let struck: string | undefined
  const isTurn = (what: string): boolean => {
    seen += 1
    if (seen !== armed) return false
    struck = what
    return true
  }
  const restore = driver === 'sqlite' ? wrapSqlite(isTurn, when) : wrapPostgres(isTurn, when)
  return {
    arm(n) {
      armed = n
      seen = 0
      struck = undefined
    },
    get seen() {
      return seen
    },
    get struck() {
      return struck
    },
    [Symbol.dispose]: restore,
  }
}

type IsTurn = (what: string) => boolean

function wrapSqlite(isTurn: IsTurn, when: When): () => void {
  const databases = new WeakMap<StatementSync, DatabaseSync>()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...parameters: Parameters<typeof prepare>) {
    const statement = prepare.apply(this, parameters)
    databases.set(statement, this)
    return statement
  }
  const restores = (['all', 'run', 'iterate'] as const).map((name) => {
    const original = StatementSync.prototype[name]
    const value = function (this: StatementSync, ...parameters: unknown[]): unknown {
      if (isTurn(this.sourceSQL)) {
        const database = databases.get(this)
        if (when === 'rolled back' && database?.isTransaction === true) database.exec('rollback')
        throw new DiskError(when)
      }
      return Reflect.apply(original, this, parameters)
    }
    Object.defineProperty(StatementSync.prototype, name, { value, configurable: true, writable: true })
    return () => Object.defineProperty(StatementSync.prototype, name, { value: original, configurable: true, writable: true })
  })
  return () => {
    DatabaseSync.prototype.prepare = prepare
    for (const restore of restores) restore()
  }
}

function wrapPostgres(isTurn: IsTurn, when: When): () => void {
  // The method has a dozen overloads; it is wrapped as one function and its arguments are passed through.
  const prototype = pg.Client.prototype as unknown as { query: (...parameters: unknown[]) => unknown }
  const { query } = prototype
  prototype.query = function (this: pg.Client, ...parameters: unknown[]) {
    const first = parameters[0]
    const text =
      typeof first === 'string' ? first : typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : ''
    if (!isTurn(text)) return query.apply(this, parameters)
    if (when === 'unknown') return query.apply(this, failing(parameters))
    const lost = new ConnectionError('Connection terminated unexpectedly')
    const told = parameters.at(-1)
    const work =
      when === 'after'
        ? Promise.resolve(
            query.apply(
              this,
              parameters.filter((p) => typeof p !== 'function'),
            ),
          )
        : Promise.resolve()
    const cut = async (): Promise<never> => {
      await work.catch(() => undefined)
      // The socket is destroyed, so that the driver sees a real loss.
      this.emit('error', lost)
      void this.end().catch(() => undefined)
      throw lost
    }
    if (typeof told !== 'function') return cut()
    void cut().catch((error: unknown) => told(error))
    return undefined
  }
  return () => void (prototype.query = query)
}

/** Runs the call with a statement that fails with a code of no class that PostgreSQL defines. */
function failing(parameters: readonly unknown[]): unknown[] {
  const told = parameters.filter((parameter) => typeof parameter === 'function')
  return ["do $$ begin raise exception 'something new' using errcode = 'ZX123'; end $$", ...told]
}
