import { expect, test } from 'vitest'
import {
  IMAGE_REPORT_MAX,
  ImageReportInput,
  ImageReportQuery,
  parseImageReference,
  toCommitHash,
  toReportLine,
  toWebAddress,
} from './image-reports.ts'

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

test('texts of other services get the form that a report takes, or are left out', () => {
  const report = { image: 'node', digest: DIGEST, workflow: { name: 'shop' } }
  const message = toReportLine(`\n Mend\u0000the cart${'x'.repeat(2_000)}\nand more`, IMAGE_REPORT_MAX.message)
  expect(message).toMatch(/^Mend the cartx+$/)
  const git = { message, commit: toCommitHash('abcdef0'), url: toWebAddress('https://git.test/acme') }
  expect(ImageReportInput.parse({ ...report, git }).git).toEqual(git)
  expect([toReportLine(' \n ', 5), toCommitHash('main'), toWebAddress('javascript:alert(1)')]).toEqual(Array(3).fill(undefined))
  expect(toWebAddress(`https://git.test/${'x'.repeat(IMAGE_REPORT_MAX.url)}`)).toBeUndefined()
})
