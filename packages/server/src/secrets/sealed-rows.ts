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
import type { ReplyRow } from '../store/schema/schema.ts'
import { bytesOf, firstPart, page, PAGE, readPart, saved, type ReadPage, type SealedRow } from './sealed-page.ts'
import { readTable } from './sealed-table.ts'

/** Maximum events read per page; few of them hold sealed texts. */
const EVENTS = 500

export const SEALED_ROWS: Readonly<Record<SealedKind, ReadPage>> = {
  context: readTable({
    table: 'context',
    key: 'id',
    column: 'data',
    more: ['account_id', 'type'],
    changed: (row, _data, change) => changeSealedData(row, change),
  }),

  pipeline: readTable({
    table: 'pipeline',
    key: 'id',
    column: 'variables',
    more: ['account_id'],
    changed: (row, _variables, change) => changeSealedVariables(row, change),
  }),

  webhook: readTable({
    table: 'webhook',
    key: 'id',
    column: 'secret',
    more: ['account_id'],
    changed: (row, secret, change) => change(webhookPlace(row), secret),
  }),

  notification: readTable({
    table: 'notification',
    key: 'id',
    column: 'secret',
    more: ['account_id'],
    changed: (row, secret, change) => change(notificationPlace(row), secret),
  }),

  'mail-server': readTable({
    table: 'mail_server',
    key: 'account_id',
    column: 'password',
    more: [],
    changed: (row, password, change) => change(mailServerPlace(row), password),
  }),

  build: readTable({
    table: 'build_plan',
    key: 'build_id',
    column: 'secrets',
    more: ['account_id'],
    changed: ({ build_id: id, account_id }, secrets, change) => change(buildPlace({ id, account_id }), secrets),
  }),

  'build-data': readTable({
    table: 'build_data',
    key: 'id',
    column: 'data',
    more: ['account_id'],
    changed: (row, data, change) => change(buildDataPlace(row), data),
  }),

  'signing-key': readTable({
    table: 'signing_key',
    key: 'id',
    column: 'private_key',
    more: ['account_id'],
    changed: (row, key, change) => change(signingKeyPlace(row), key),
  }),

  authority: readTable({
    table: 'meta',
    key: 'key',
    column: 'value',
    more: [],
    prefix: AUTHORITY_PREFIX,
    changed: ({ key }, authority, change) => change(authorityPlace(key), authority),
  }),

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
}

const EventCursor = z.tuple([z.string(), z.number()])

function replyCursor(row: Pick<ReplyRow, 'account_id' | 'actor_id' | 'key'>): string {
  return JSON.stringify([row.account_id, row.actor_id, row.key])
}
