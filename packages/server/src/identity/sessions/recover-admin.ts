/**
 * A new key of an admin for the operator of a server: after a restore, or when all keys and passwords are lost. Who has the data and the master key of a server can
 * read everything in it anyway.
 */
import { newId, newToken, silentLog, systemClock } from '@windlass/kit'
import type { App } from '../../app.ts'
import { inCall, noteDetail } from '../../audit/call.ts'
import { openApp, type AppOptions } from '../../open-app.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { insertApiKey } from '../../store/access/api-keys.ts'
import { findUser, insertUser, listUsers } from '../../store/access/users.ts'
import type { Tx } from '../../store/store.ts'
import type { UserRow } from '../../store/schema/user-schema.ts'
import { newKey } from '../keys/keys.ts'
import { newUser } from '../users/users.ts'

export interface RecoveredKey {
  /** Name of the admin for whom the key acts. */
  readonly owner: string
  /** Name of the key. */
  readonly name: string
  readonly token: string
}

const MOST_USERS = 100_000

/** Creates a key without an end for the oldest active admin, or for a new one. The audit log has a record of it. */
export async function createRecoveryKey(app: App): Promise<RecoveredKey> {
  const token = newToken(app.clock.now())
  const name = `recovery-${token.id}`
  const call = {
    caller: { kind: 'operator', id: '', name: 'operator of the server' },
    action: 'RECOVER admin',
    target: name,
    address: 'local',
    client: undefined,
    requestId: newId(app.clock.now()),
    isRecorded: false,
  }
  return inCall(call, () =>
    app.store.write(async (tx) => {
      await lockAccount(tx, app.accountId)
      const owner = (await findActiveAdmin(app, tx)) ?? (await createAdmin(app, tx))
      await insertApiKey(tx, newKey(app, { name, role: 'admin', owner }, token))
      noteDetail(`key ${name} of ${owner.name}`)
      return { owner: owner.name, name, token: token.text }
    }),
  )
}

async function findActiveAdmin(app: App, tx: Tx): Promise<UserRow | undefined> {
  const users = await listUsers(tx.query, { accountId: app.accountId, kind: 'user', after: undefined, limit: MOST_USERS })
  return users
    .filter(({ role, disabled_at: disabledAt }) => role === 'admin' && disabledAt === null)
    .toSorted((a, b) => a.created_at - b.created_at)[0]
}

async function createAdmin(app: App, tx: Tx): Promise<UserRow> {
  const isTaken = (await findUser(tx.query, app.accountId, 'admin')) !== undefined
  const user = newUser(app, { kind: 'user', name: isTaken ? `admin-${newId(app.clock.now())}` : 'admin', role: 'admin' })
  await insertUser(tx, user)
  return user
}

/** Creates the key in the database of these settings. Throws the faults of `openApp`: the server of an SQLite database must be stopped (`store-locked`). */
export async function recoverAdmin(options: Omit<AppOptions, 'clock' | 'log' | 'startsLoops'>): Promise<RecoveredKey> {
  const { app, close } = await openApp({ ...options, clock: systemClock, log: silentLog, startsLoops: false }, () => '')
  try {
    return await createRecoveryKey(app)
  } finally {
    await close()
  }
}
