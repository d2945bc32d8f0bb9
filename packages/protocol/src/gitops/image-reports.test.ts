import { expect, test } from 'vitest'
import { ImageReportInput, ImageReportQuery, parseImageReference } from './image-reports.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`

test('references of images are completed as Docker completes them', () => {
  const name = (text: string): string | undefined => parseImageReference(text)?.name
  expect(parseImageReference(`registry.test:5000/acme/shop:v1@${DIGEST}`)).toEqual({
    name: 'registry.test:5000/acme/shop',
    tag: 'v1',
    digest: DIGEST,
  })
  expect(name('node')).toBe('docker.io/library/node')
  expect(name('acme/shop:1')).toBe('docker.io/acme/shop')
  expect(name('index.docker.io/node')).toBe('docker.io/library/node')
  expect(name('localhost/shop')).toBe('localhost/shop')
  expect(name('[::1]:5000/shop')).toBe('[::1]:5000/shop')
  expect(name('Registry.Test/acme/shop')).toBe('registry.test/acme/shop')
})

test('what is not a reference is none', () => {
  for (const text of [
    '',
    'Acme/shop',
    'acme//shop',
    '../shop',
    'a b',
    'shop:',
    'shop:-x',
    'shop@sha256:0',
    'a@b@c',
    `x/${'a'.repeat(500)}`,
  ])
    expect([text, parseImageReference(text)]).toEqual([text, undefined])
})

test('a report has the name without its tag, and links lead to pages only', () => {
  const report = { image: 'node', digest: DIGEST, workflow: { name: 'shop' } }
  expect(ImageReportInput.parse(report)).toMatchObject({ image: 'docker.io/library/node' })
  for (const wrong of [
    { image: 'node:24' },
    { digest: 'latest' },
    { workflow: { name: 'a\u0000b' } },
    { git: { url: 'javascript:alert(1)' } },
    { git: { commit: 'main' } },
    { issues: [{ key: 'shop-1' }] },
    { tags: ['a b'] },
  ])
    expect([wrong, ImageReportInput.safeParse({ ...report, ...wrong }).success]).toEqual([wrong, false])
  expect([100, 101].map((limit) => ImageReportQuery.safeParse({ limit }).success)).toEqual([true, false])
})
