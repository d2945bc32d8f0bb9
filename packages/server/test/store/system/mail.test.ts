/** Notifications by mail, through a real SMTP server. */
import { newId } from '@windlass/kit'
import { BuildInput, MailServerInput, NotificationInput, PipelineInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import type { Actor } from '../../../src/identity/actor.ts'
import { putMailServer, removeMailServer, showMailServer } from '../../../src/notifications/mail-server.ts'
import { createNotification, showNotification, testNotification } from '../../../src/notifications/notifications.ts'
import { listMessagePage } from '../../../src/outbox/messages.ts'
import { sendMessages } from '../../../src/outbox/send.ts'
import { createBuild } from '../../../src/builds/create/create.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { HELLO } from '../../support/scene.ts'
import { openMailReceiver, type MailReceiver, type ReceivedMail } from '../../support/fakes/receivers.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const ADMIN: Actor = { kind: 'key', id: newId(0), accountId: '', name: 'admin', role: 'admin' }
const LOGIN = { username: 'windlass', password: 'a s3cret pass-word' }

async function setMail(app: App, { port, ca }: MailReceiver, more: object = {}): Promise<void> {
  await putMailServer(app, MailServerInput.parse({ host: '127.0.0.1', port, from: 'ci@example.com', ca, ...more }))
}

async function addMail(app: App, ...to: string[]): Promise<void> {
  const input = NotificationInput.parse({ name: 'mail', channel: { type: 'mail', to } })
  await createNotification(app, { input, actor: ADMIN })
}

/** Creates a build that fails at once, on a branch with a name that tries to add a header. */
async function fail(app: App): Promise<BuildRow> {
  await putPipeline(app, { input: PipelineInput.parse({ name: 'shop/app', document: HELLO }), precondition: {} })
  return createBuild(app, {
    request: BuildInput.parse({ pipeline: 'shop/app', document: 'steps: 5', branch: 'main\r\nBcc: all@example.com' }),
    initiator: 'forge',
    trigger: { kind: 'webhook' },
  })
}

/** Returns a header, unfolded. */
function header({ text }: ReceivedMail, name: string): string | undefined {
  const head = text.slice(0, text.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]/g, ' ')
  return new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]
}

describe.each(DATABASES)('mail on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test.each(['starttls', 'tls'] as const)('sends an encrypted mail with a login: %s (N006)', async (security) => {
    await using receiver = await openMailReceiver({ security, login: LOGIN })
    await using held = await openTestApp(database)
    const { app } = held
    await setMail(app, receiver, { security, ...LOGIN })
    await addMail(app, 'mira@example.com')
    const build = await fail(app)
    await sendMessages(app)
    const [mail] = receiver.mails
    expect(receiver.mails).toHaveLength(1)
    expect(mail).toMatchObject({ from: 'ci@example.com', to: ['mira@example.com'], isEncrypted: true, user: 'windlass' })
    if (mail === undefined) return
    expect(header(mail, 'Subject')).toContain(`[windlass] Build ${build.number} of shop/app failed`)
    expect(header(mail, 'Bcc')).toBeUndefined()
    expect(header(mail, 'Auto-Submitted')).toBe('auto-generated')
    expect(header(mail, 'X-Windlass-Build')).toBe(build.id)
    expect(mail.text.replaceAll('=\r\n', '')).toContain(`http://server.test/builds/${build.id}`)
    expect(JSON.stringify(await showMailServer(app))).not.toContain(LOGIN.password)
  })

  test('a repeated mail has the same Message-ID, and each recipient has its own result (N006, N007)', async () => {
    await using receiver = await openMailReceiver()
    await using held = await openTestApp(database)
    const { app, clock } = held
    await setMail(app, receiver)
    await addMail(app, 'a@example.com', 'b@example.com', 'a@example.com')
    await fail(app)
    receiver.refusals = [451, 550]
    await sendMessages(app)
    expect(receiver.mails).toEqual([])
    const failed = (await listMessagePage(app, { limit: 10, state: 'failed' })).items
    const waiting = (await listMessagePage(app, { limit: 10, state: 'waiting' })).items
    expect(failed).toMatchObject([{ problem: 'The mail server 127.0.0.1 refused the mail: 550.' }])
    expect(waiting).toMatchObject([{ problem: 'The mail server 127.0.0.1 refused the mail: 451.' }])
    clock.advance(10_000)
    await sendMessages(app)
    expect(receiver.mails).toHaveLength(1)
    const sent = receiver.mails[0]
    expect(sent && header(sent, 'Message-ID')).toBe(`<${waiting[0]?.id}@server.test>`)
    // The result of the first mail was lost: the server sends it again.
    await app.store.query
      .updateTable('message')
      .set({ next_at: clock.now() })
      .where('id', '=', waiting[0]?.id ?? '')
      .execute()
    await sendMessages(app)
    expect(new Set(receiver.mails.map((mail) => header(mail, 'Message-ID'))).size).toBe(1)
    expect(receiver.mails).toHaveLength(2)
  })

  test('sends neither login nor mail without encryption, to a wrong certificate, or with a wrong password (N006)', async () => {
    await using plain = await openMailReceiver({ security: 'none', login: LOGIN })
    await using other = await openMailReceiver()
    await using locked = await openMailReceiver({ login: LOGIN })
    await using held = await openTestApp(database)
    const { app, clock } = held
    await setMail(app, plain, LOGIN)
    await addMail(app, 'mira@example.com')
    const tryIt = async (): Promise<string | undefined> => {
      clock.advance(10_000)
      return (await testNotification(app, 'mail', ADMIN)).problem
    }
    expect(await tryIt()).toContain('The mail server 127.0.0.1 cannot be used')
    await setMail(app, { ...other, ca: locked.ca })
    expect(await tryIt()).toContain('cannot be used')
    await setMail(app, locked, { ...LOGIN, password: 'another' })
    expect(await tryIt()).toBe('The mail server 127.0.0.1 refused the login: 535.')
    expect([...plain.mails, ...other.mails, ...locked.mails]).toEqual([])
    expect(await showNotification(app, 'mail', ADMIN)).toMatchObject({ problem: expect.stringContaining('535') })
    await setMail(app, other)
    expect(await tryIt()).toBeUndefined()
    expect(other.mails).toHaveLength(1)
    await expect(testNotification(app, 'mail', ADMIN)).rejects.toMatchObject({ code: 'rate-limited' })
  })

  test('keeps a password only for the same host and user, and refuses a login without encryption', async () => {
    await using receiver = await openMailReceiver({ login: LOGIN })
    await using held = await openTestApp(database)
    const { app } = held
    await setMail(app, receiver, LOGIN)
    await setMail(app, receiver, { username: LOGIN.username, from: 'other@example.com' })
    await addMail(app, 'mira@example.com')
    expect(await testNotification(app, 'mail', ADMIN)).toEqual({ sent: true })
    expect(receiver.mails[0]).toMatchObject({ from: 'other@example.com', user: LOGIN.username })
    const put = (more: object): Promise<unknown> => setMail(app, receiver, more)
    await expect(put({ host: 'other.example', username: LOGIN.username })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(put({ username: 'another' })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(put({ ...LOGIN, security: 'none' })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(put({ password: 'x' })).rejects.toMatchObject({ code: 'request-invalid' })
  })

  test('sends only to the domains of the mail server, also if they change later, and waits for a mail server', async () => {
    await using receiver = await openMailReceiver()
    await using held = await openTestApp(database)
    const { app, clock } = held
    await expect(addMail(app, 'mira@example.com')).rejects.toMatchObject({ message: 'This installation has no mail server.' })
    await setMail(app, receiver, { domains: ['Example.com'] })
    await expect(addMail(app, 'mira@sub.example.com')).rejects.toMatchObject({ code: 'request-invalid' })
    await addMail(app, 'mira@EXAMPLE.com')
    await removeMailServer(app)
    await expect(removeMailServer(app)).rejects.toMatchObject({ code: 'not-found' })
    await fail(app)
    await sendMessages(app)
    expect((await listMessagePage(app, { limit: 10 })).items).toMatchObject([
      { state: 'waiting', problem: 'No mail server is set.' },
    ])
    await setMail(app, receiver, { domains: ['example.org'] })
    clock.advance(10_000)
    await sendMessages(app)
    expect((await listMessagePage(app, { limit: 10 })).items).toMatchObject([
      { state: 'failed', problem: 'The mail server may not send to example.com.' },
    ])
    expect(receiver.mails).toEqual([])
  })
})
