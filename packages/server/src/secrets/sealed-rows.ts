/**
 * Where sealed texts are stored: one reader per kind of place that pages through its rows, so that they can be rewrapped with another master key.
 * The types require an entry for every kind.
 */
import { sql } from 'kysely'
import { z } from 'zod'
import { AUTHORITY_PREFIX } from '../certificates/certificates.ts'
import { changeSealedValues } from '../builds/create/build-secrets.ts'
import { changeSealedData } from '../contexts/context-data.ts'
import { changeSealedVariables } from '../pipelines/variables.ts'
import type { Query, Tx } from '../store/store.ts'
import { authorityPlace, buildPlace, replyPlace, signingKeyPlace, webhookPlace, type Place, type SealedKind } from './places.ts'

/** Rewraps one sealed text of a place. */
export type Change = (place: Place, sealed: string) => string

/** A row with a column that holds sealed texts. */
export interface SealedRow {
  /** Identifies the row in logs. */
  readonly id: string
  /** Returns the column with its sealed texts changed. Throws if it is damaged. */
  changed(change: Change): string
  /** The column as it was read. */
  readonly value: string
  /** Writes the column unless it was changed in the meantime; returns whether it did. */
  save(tx: Tx, value: string): Promise<boolean>
}

export interface SealedPage {
  readonly rows: readonly SealedRow[]
  /** Cursor of the next page; undefined after the last page. */
  readonly next: string | undefined
}

/** Reads the rows after a cursor, limited in number and size. */
export type ReadPage = (query: Query, after: string) => Promise<SealedPage>

/** Maximum rows per page. Each page is held in memory and rewritten in one transaction, which must be short. */
const PAGE = 50
/** Maximum bytes per page, unless its first row is larger. */
const PAGE_BYTES = 4 * 1024 * 1024
/** Maximum events read per page; few of them hold sealed texts. */
const EVENTS = 500

export const SEALED_ROWS: Readonly<Record<SealedKind, ReadPage>> = {
  async context(query, after) {
    const behind = query.selectFrom('context').where('id', '>', after).orderBy('id')
    const part = firstPart(await behind.select(bytesOf('data')).limit(PAGE).execute(), PAGE)
    return page(
      { ...part, rows: await behind.selectAll().limit(part.count).execute() },
      ({ id }) => id,
      (row) => ({
        value: row.data,
        changed: (change) => changeSealedData(row, change),
        save: (tx, data) =>
          saved(tx.query.updateTable('context').set({ data }).where('id', '=', row.id).where('data', '=', row.data)),
      }),
    )
  },

  async pipeline(query, after) {
    const behind = query.selectFrom('pipeline').where('id', '>', after).orderBy('id')
    const part = firstPart(await behind.select(bytesOf('variables')).limit(PAGE).execute(), PAGE)
    return page(
      { ...part, rows: await behind.selectAll().limit(part.count).execute() },
      ({ id }) => id,
      (row) => ({
        value: row.variables,
        changed: (change) => changeSealedVariables(row, change),
        save: (tx, variables) =>
          saved(
            tx.query.updateTable('pipeline').set({ variables }).where('id', '=', row.id).where('variables', '=', row.variables),
          ),
      }),
    )
  },

  async webhook(query, after) {
    const rows = await query.selectFrom('webhook').selectAll().where('id', '>', after).orderBy('id').limit(PAGE).execute()
    return page(
      { rows, isLast: rows.length < PAGE },
      ({ id }) => id,
      (row) => ({
        value: row.secret,
        changed: (change) => change(webhookPlace(row), row.secret),
        save: (tx, secret) =>
          saved(tx.query.updateTable('webhook').set({ secret }).where('id', '=', row.id).where('secret', '=', row.secret)),
      }),
    )
  },

  async build(query, after) {
    const behind = query.selectFrom('build_plan').where('build_id', '>', after).orderBy('build_id')
    const part = firstPart(await behind.select(bytesOf('secrets')).limit(PAGE).execute(), PAGE)
    return page(
      { ...part, rows: await behind.select(['build_id', 'account_id', 'secrets']).limit(part.count).execute() },
      ({ build_id: id }) => id,
      ({ build_id: id, account_id, secrets }) =>
        secrets === null
          ? undefined
          : {
              value: secrets,
              changed: (change) => change(buildPlace({ id, account_id }), secrets),
              save: (tx, sealed) =>
                saved(
                  tx.query
                    .updateTable('build_plan')
                    .set({ secrets: sealed })
                    .where('build_id', '=', id)
                    .where('secrets', '=', secrets),
                ),
            },
    )
  },

  async event(query, after) {
    const [build, position] = after === '' ? ['', 0] : EventCursor.parse(JSON.parse(after))
    const behind = query
      .selectFrom('event')
      .where(({ eb, refTuple, tuple }) => eb(refTuple('build_id', 'position'), '>', tuple(build, position)))
      .orderBy('build_id')
      .orderBy('position')
    const looked = await behind
      .select(['build_id', 'position', bytesOf('data')])
      .limit(EVENTS)
      .execute()
    const { count, isLast } = firstPart(looked, EVENTS)
    const last = looked[count - 1]
    if (last === undefined) return { rows: [], next: undefined }
    const events = await behind
      .select(['build_id', 'position', 'account_id', 'data'])
      .where(({ eb, refTuple, tuple }) => eb(refTuple('build_id', 'position'), '<=', tuple(last.build_id, last.position)))
      .where('data', 'like', '%"s1.%')
      .limit(PAGE)
      .execute()
    const isFull = events.length === PAGE
    const end = (isFull ? events.at(-1) : undefined) ?? last
    const rows = events.map(({ build_id: id, position, account_id, data }): SealedRow => ({
      id: `${id}/${position}`,
      value: data,
      changed: (change) => changeSealedValues({ id, account_id }, data, change),
      save: (tx, changed) =>
        saved(
          tx.query
            .updateTable('event')
            .set({ data: changed })
            .where('build_id', '=', id)
            .where('position', '=', position)
            .where('data', '=', data),
        ),
    }))
    return { rows, next: isLast && !isFull ? undefined : JSON.stringify([end.build_id, end.position]) }
  },

  async reply(query, after) {
    const [account = '', actor = '', key = ''] = after === '' ? [] : (JSON.parse(after) as string[])
    const behind = query
      .selectFrom('reply')
      .where(({ eb, refTuple, tuple }) => eb(refTuple('account_id', 'actor_id', 'key'), '>', tuple(account, actor, key)))
      .orderBy('account_id')
      .orderBy('actor_id')
      .orderBy('key')
    const part = firstPart(await behind.select(bytesOf('body')).limit(PAGE).execute(), PAGE)
    return page(
      { ...part, rows: await behind.selectAll().limit(part.count).execute() },
      (row) => JSON.stringify([row.account_id, row.actor_id, row.key]),
      (row) => {
        const { account_id: accountId, actor_id: actorId, key: name, body } = row
        if (body === null) return undefined
        return {
          value: body,
          changed: (change) => change(replyPlace({ accountId, actorId, key: name }), body),
          save: (tx, sealed) =>
            saved(
              tx.query
                .updateTable('reply')
                .set({ body: sealed })
                .where('account_id', '=', accountId)
                .where('actor_id', '=', actorId)
                .where('key', '=', name)
                .where('body', '=', body),
            ),
        }
      },
    )
  },

  async 'signing-key'(query, after) {
    const rows = await query.selectFrom('signing_key').selectAll().where('id', '>', after).orderBy('id').limit(PAGE).execute()
    return page(
      { rows, isLast: rows.length < PAGE },
      ({ id }) => id,
      (row) => {
        const { id, private_key: value } = row
        const save = (tx: Tx, sealed: string): Promise<boolean> =>
          saved(
            tx.query
              .updateTable('signing_key')
              .set({ private_key: sealed })
              .where('id', '=', id)
              .where('private_key', '=', value),
          )
        return { value, changed: (change) => change(signingKeyPlace(row), value), save }
      },
    )
  },

  async authority(query, after) {
    const rows = await query
      .selectFrom('meta')
      .selectAll()
      .where('key', '>', after === '' ? AUTHORITY_PREFIX : after)
      .where('key', 'like', `${AUTHORITY_PREFIX}%`)
      .orderBy('key')
      .limit(PAGE)
      .execute()
    return page(
      { rows, isLast: rows.length < PAGE },
      ({ key }) => key,
      ({ key, value }) => ({
        value,
        changed: (change) => change(authorityPlace(key), value),
        save: (tx, sealed) =>
          saved(tx.query.updateTable('meta').set({ value: sealed }).where('key', '=', key).where('value', '=', value)),
      }),
    )
  },
}

const EventCursor = z.tuple([z.string(), z.number()])

/** Returns the size of a column in bytes, without reading it. */
function bytesOf(column: string) {
  return sql<number>`coalesce(octet_length(${sql.ref(column)}), 0)`.as('bytes')
}

/** Returns how many of these rows fit into one page, and whether it is the last page. `limit` is that of the query that found them. */
function firstPart(sizes: readonly { readonly bytes: number }[], limit: number): { count: number; isLast: boolean } {
  let sum = 0
  const beyond = sizes.findIndex(({ bytes }, index) => (sum += Number(bytes)) > PAGE_BYTES && index > 0)
  return beyond < 0 ? { count: sizes.length, isLast: sizes.length < limit } : { count: beyond, isLast: false }
}

interface Found<R> {
  readonly rows: readonly R[]
  readonly isLast: boolean
}

function page<R>(
  { rows, isLast }: Found<R>,
  cursor: (row: R) => string,
  toRow: (row: R) => Omit<SealedRow, 'id'> | undefined,
): SealedPage {
  const last = rows.at(-1)
  const found = rows.map((row): SealedRow | undefined => {
    const sealed = toRow(row)
    return sealed && { id: cursor(row), ...sealed }
  })
  return {
    rows: found.filter((row) => row !== undefined),
    next: isLast || last === undefined ? undefined : cursor(last),
  }
}

interface Update {
  executeTakeFirstOrThrow(): Promise<{ readonly numUpdatedRows: bigint }>
}

async function saved(update: Update): Promise<boolean> {
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows > 0n
}
