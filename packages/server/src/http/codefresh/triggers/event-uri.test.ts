import { expect, test } from 'vitest'
import { accountHash, readUri, toUri, type EventSource } from './event-uri.ts'

const ACCOUNT = 'a'.repeat(24)
const SOURCES: readonly (readonly [EventSource, string])[] = [
  [{ type: 'cron', expression: '*/5 3 * * *', message: 'a:b?' }, 'cron:codefresh:*/5 3 * * *:a:b?:'],
  [{ type: 'registry', name: 'team/sub/app' }, 'registry:any:team/sub:app:push:'],
  [{ type: 'registry', name: 'app' }, 'registry:any::app:push:'],
  [{ type: 'helm', name: 'charts/web' }, 'helm:any:charts:web:push:'],
  [{ type: 'build', pipeline: 'shop/app' }, 'build:any:shop/app:finished:'],
]

test.each(SOURCES)('an event has a URI, which can be read again (%j)', (source, start) => {
  const uri = toUri(ACCOUNT, source)
  expect(uri).toBe(start + accountHash(ACCOUNT))
  expect(readUri(ACCOUNT, uri)).toEqual(source)
  expect(readUri('b'.repeat(24), uri)).toBeUndefined()
})

test('other texts are not events', () => {
  for (const text of ['', 'cron:codefresh:x', 'registry:dockerhub:a:b:push', 'git:github:a:b'])
    expect(readUri(ACCOUNT, `${text}:${accountHash(ACCOUNT)}`)).toBeUndefined()
})
