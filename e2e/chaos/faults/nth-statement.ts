/**
 * Fails the n-th statement that the store sends to its database, whichever it is: the drivers themselves are wrapped (`node:sqlite`, `pg`),
 * so that no code of ours knows of it. For servers that run in this process.
 */
import { StatementSync } from 'node:sqlite'
import pg from 'pg'

export interface StatementFault extends Disposable {
  /** Counts from now; the n-th statement fails, once. 0 only counts. */
  arm(n: number): void
  /** Statements since `arm`. */
  readonly seen: number
  /** Whether the fault has struck. */
  readonly struck: string | undefined
}

/** What SQLite says when the disk fails (https://www.sqlite.org/rescode.html#ioerr). */
class DiskError extends Error {
  readonly code = 'ERR_SQLITE_ERROR'
  readonly errcode = 10
  readonly errstr = 'disk I/O error'
}

/** What pg says when the connection is lost. Nobody then knows whether the statement was carried out. */
class ConnectionError extends Error {
  readonly code = 'ECONNRESET'
}

/** Wraps the driver until it is disposed. `after`: the statement is carried out, and its answer is lost (PostgreSQL only). */
export function failStatements(driver: 'sqlite' | 'postgres', when: 'before' | 'after' = 'before'): StatementFault {
  let armed = 0
  let seen = 0
  let struck: string | undefined
  const isTurn = (what: string): boolean => {
    seen += 1
    if (seen !== armed) return false
    struck = what
    return true
  }
  const restore = driver === 'sqlite' ? wrapSqlite(isTurn) : wrapPostgres(isTurn, when)
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

function wrapSqlite(isTurn: IsTurn): () => void {
  const restores = (['all', 'run', 'iterate'] as const).map((name) => {
    const original = StatementSync.prototype[name]
    const value = function (this: StatementSync, ...parameters: unknown[]): unknown {
      if (isTurn(this.sourceSQL)) throw new DiskError('disk I/O error')
      return Reflect.apply(original, this, parameters)
    }
    Object.defineProperty(StatementSync.prototype, name, { value, configurable: true, writable: true })
    return () => Object.defineProperty(StatementSync.prototype, name, { value: original, configurable: true, writable: true })
  })
  return () => {
    for (const restore of restores) restore()
  }
}

function wrapPostgres(isTurn: IsTurn, when: 'before' | 'after'): () => void {
  // The method has a dozen overloads; it is wrapped as one function and handed on unchanged.
  const prototype = pg.Client.prototype as unknown as { query: (...parameters: unknown[]) => unknown }
  const { query } = prototype
  prototype.query = function (this: pg.Client, ...parameters: unknown[]) {
    const first = parameters[0]
    const text =
      typeof first === 'string' ? first : typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : ''
    if (!isTurn(text)) return query.apply(this, parameters)
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
      // The socket is really gone, as the driver would find it.
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
