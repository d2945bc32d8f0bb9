import type { BuildStep } from '@windlass/protocol'
import { NoticeDocument } from '@windlass/protocol'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { firstFailed, oneLine, type Notice } from '../notice.ts'
import { toSlackCall, toTeamsCall } from './chat.ts'
import { toWebhookCall } from './webhook.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ID = 'a'.repeat(24)
const notice: Notice = {
  type: 'build.failed',
  at: 1_800_000_000_000,
  notification: 'ops',
  title: 'Build 42 of shop/app failed',
  about: 'branch <!channel> & *bold* [x](https://evil.test) · started by mira',
  details: ['Step "test" failed: <https://evil.test|click> & more'],
  url: 'https://ci.test/builds/1',
}

const call = (): { headers: Readonly<Record<string, string>>; body?: string } =>
  toWebhookCall(notice, { id: ID, secret: SECRET, now: Date.now() })

test('a library of Standard Webhooks verifies the signature over the raw body, and refuses changes (N003)', () => {
  const { headers, body = '' } = call()
  const hook = new Webhook(SECRET)
  const document = NoticeDocument.parse(hook.verify(body, headers))
  expect(document).toMatchObject({ id: ID, type: 'build.failed', timestamp: '2027-01-15T08:00:00.000Z' })
  expect(headers['webhook-id']).toBe(ID)
  expect(() => hook.verify(`${body} `, headers)).toThrow('signature')
  expect(() => hook.verify(body, { ...headers, 'webhook-id': 'b'.repeat(24) })).toThrow('signature')
  expect(() => hook.verify(body, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) })).toThrow(
    'signature',
  )
  expect(() => new Webhook(`whsec_${Buffer.alloc(32, 8).toString('base64')}`).verify(body, headers)).toThrow('signature')
  const old = toWebhookCall(notice, { id: ID, secret: SECRET, now: Date.now() - 600_000 })
  expect(() => hook.verify(old.body ?? '', { ...old.headers })).toThrow('too old')
})

test('Slack gets blocks and a fallback text in which users can neither mention people nor add links (N004)', () => {
  const message = JSON.parse(toSlackCall(notice).body ?? '') as {
    text: string
    blocks: { text?: { type: string; text: string }; elements?: { type: string; text: string }[] }[]
  }
  expect(message.text).not.toMatch(/[<>]/)
  expect(message.text).toContain('&lt;https://evil.test|click&gt; &amp; more')
  expect(message.blocks[0]?.text).toEqual({
    type: 'mrkdwn',
    text: '*<https://ci.test/builds/1|Build 42 of shop/app failed>*',
  })
  const others = message.blocks
    .slice(1)
    .flatMap(({ text, elements = [] }) => [...(text === undefined ? [] : [text]), ...elements])
  expect(others.map(({ type }) => type)).toEqual(['plain_text', 'plain_text'])
  expect(others[0]?.text).toBe(notice.details[0])
})

test('Teams gets an Adaptive Card whose texts are no Markdown, with a link to the build (N005)', () => {
  const message = JSON.parse(toTeamsCall(notice).body ?? '') as {
    type: string
    attachments: { contentType: string; content: { type: string; body: { type: string }[]; actions: object[] } }[]
  }
  const [attachment] = message.attachments
  expect(message.type).toBe('message')
  expect(attachment?.contentType).toBe('application/vnd.microsoft.card.adaptive')
  expect(attachment?.content.body.map(({ type }) => type)).toEqual(['RichTextBlock', 'RichTextBlock', 'RichTextBlock'])
  expect(attachment?.content.actions).toEqual([{ type: 'Action.OpenUrl', title: 'Open build', url: notice.url }])
  expect(JSON.stringify(attachment)).toContain('[x](https://evil.test)')
})

test('texts are one bounded line without control and direction characters', () => {
  expect(oneLine('a\r\nBcc: x\u202Eb\u0007\tc', 100)).toBe('a Bcc: x b c')
  expect(oneLine('x'.repeat(300), 100)).toHaveLength(100)
  expect(oneLine(`${'x'.repeat(98)}😀😀`, 100)).toBe(`${'x'.repeat(98)}…`)
})

test('the first failed step is the cause in a group, and the step before its hook', () => {
  const step = (name: string, finishedAt: number, parent?: string): BuildStep =>
    ({ name, title: name, type: 'freestyle', status: 'error', try: 1, finishedAt, ...(parent && { parent }) }) as BuildStep
  expect(firstFailed([step('group', 5), step('late', 9), step('child', 5, 'group')])?.name).toBe('child')
  expect(firstFailed([step('hook', 8, 'main'), step('main', 4)])?.name).toBe('main')
  expect(firstFailed([{ ...step('good', 1), status: 'success' }])).toBeUndefined()
})
