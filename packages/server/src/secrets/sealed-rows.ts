/**
 * Where sealed texts are stored: one reader per kind of place that pages through its rows, so that they can be rewrapped with another master key.
 * The types require an entry for every kind.
 */
import { z } from 'zod'
import { AUTHORITY_PREFIX } from '../certificates/certificates.ts'
import { changeSealedValues } from '../builds/create/build-secrets.ts'
import { changeSealedData } from '../contexts/context-data.ts'
import { changeSealedVariables } from '../pipelines/variables.ts'
import {
  authorityPlace,
  buildDataPlace,
  buildPlace,
  mailServerPlace,
  notificationPlace,
  replyPlace,
  signingKeyPlace,
  webhookPlace,
  type SealedKind,
} from './places.ts'
import type { ReplyRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import { bytesOf, firstPart, page, PAGE, readPart, saved, wholePart, type ReadPage, type SealedRow } from './sealed-page.ts'

/** Maximum events read per page; few of them hold sealed texts. */
const EVENTS = 500

export const SEALED_ROWS: Readonly<Record<SealedKind, ReadPage>> = {
  async context(query, after) {
    const behind = query.selectFrom('context').where('id', '>', after).orderBy('id')
    const sizes = await behind
      .select(['id', bytesOf('data')])
      .limit(PAGE)
      .execute()
    return page(
      await readPart(
        sizes,
        (last) => behind.where('id', '<=', last.id).selectAll().execute(),
        (last) => last.id,
      ),
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
    const sizes = await behind
      .select(['id', bytesOf('variables')])
      .limit(PAGE)
      .execute()
    return page(
      await readPart(
        sizes,
        (last) => behind.where('id', '<=', last.id).selectAll().execute(),
        (last) => last.id,
      ),
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
      wholePart(rows, ({ id }) => id),
      ({ id }) => id,
      (row) => ({
        value: row.secret,
        changed: (change) => change(webhookPlace(row), row.secret),
        save: (tx, secret) =>
          saved(tx.query.updateTable('webhook').set({ secret }).where('id', '=', row.id).where('secret', '=', row.secret)),
      }),
    )
  },

  async notification(query, after) {
    const rows = await query.selectFrom('notification').selectAll().where('id', '>', after).orderBy('id').limit(PAGE).execute()
    return page(
      wholePart(rows, ({ id }) => id),
      ({ id }) => id,
      ({ secret, ...row }) =>
        secret === null
          ? undefined
          : {
              value: secret,
              changed: (change) => change(notificationPlace(row), secret),
              save: (tx, sealed) =>
                saved(
                  tx.query
                    .updateTable('notification')
                    .set({ secret: sealed })
                    .where('id', '=', row.id)
                    .where('secret', '=', secret),
                ),
            },
    )
  },

  async 'mail-server'(query, after) {
    const rows = await query
      .selectFrom('mail_server')
      .select(['account_id', 'password'])
      .where('account_id', '>', after)
      .orderBy('account_id')
      .limit(PAGE)
      .execute()
    return page(
      wholePart(rows, ({ account_id: id }) => id),
      ({ account_id: id }) => id,
      ({ account_id: id, password }) =>
        password === null
          ? undefined
          : {
              value: password,
              changed: (change) => change(mailServerPlace({ account_id: id }), password),
              save: (tx, sealed) =>
                saved(
                  tx.query
                    .updateTable('mail_server')
                    .set({ password: sealed })
                    .where('account_id', '=', id)
                    .where('password', '=', password),
                ),
            },
    )
  },

  async build(query, after) {
    const behind = query.selectFrom('build_plan').where('build_id', '>', after).orderBy('build_id')
    const sizes = await behind
      .select(['build_id', bytesOf('secrets')])
      .limit(PAGE)
      .execute()
    return page(
      await readPart(
        sizes,
        (last) => behind.where('build_id', '<=', last.build_id).select(['build_id', 'account_id', 'secrets']).execute(),
        (last) => last.build_id,
      ),
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

  async 'build-data'(query, after) {
    const behind = query.selectFrom('build_data').where('id', '>', after).orderBy('id')
    const sizes = await behind
      .select(['id', bytesOf('data')])
      .limit(PAGE)
      .execute()
    return page(
      await readPart(
        sizes,
        (last) => behind.where('id', '<=', last.id).selectAll().execute(),
        (last) => last.id,
      ),
      ({ id }) => id,
      (row) => ({
        value: row.data,
        changed: (change) => change(buildDataPlace(row), row.data),
        save: (tx, data) =>
          saved(tx.query.updateTable('build_data').set({ data }).where('id', '=', row.id).where('data', '=', row.data)),
      }),
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
    const { last, isLast } = firstPart(looked, EVENTS)
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
    const sizes = await behind
      .select(['account_id', 'actor_id', 'key', bytesOf('body')])
      .limit(PAGE)
      .execute()
    return page(
      await readPart(
        sizes,
        (last) =>
          behind
            .where(({ eb, refTuple, tuple }) =>
              eb(refTuple('account_id', 'actor_id', 'key'), '<=', tuple(last.account_id, last.actor_id, last.key)),
            )
            .selectAll()
            .execute(),
        replyCursor,
      ),
      replyCursor,
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
      wholePart(rows, ({ id }) => id),
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
      wholePart(rows, ({ key }) => key),
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

function replyCursor(row: Pick<ReplyRow, 'account_id' | 'actor_id' | 'key'>): string {
  return JSON.stringify([row.account_id, row.actor_id, row.key])
}
