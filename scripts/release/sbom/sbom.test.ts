import { expect, test } from 'vitest'
import { fileEntry } from '../tar.ts'
import { openInventory } from './components.ts'
import { toCycloneDx } from './cyclonedx.ts'
import { goModules } from './go-modules.ts'

/** Returns a text as the linker of Go writes it: its length, then its bytes. */
function linked(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from([(bytes.byteLength & 0x7f) | 0x80, bytes.byteLength >> 7]), bytes])
}

function goProgram(modules: string): Buffer {
  const header = Buffer.alloc(32)
  header.write('\xff Go buildinf:', 'latin1')
  header[15] = 2
  const sentinel = '0123456789abcdef'
  return Buffer.concat([Buffer.alloc(600_000), header, linked('go1.24.4'), linked(`${sentinel}${modules}${sentinel}`)])
}

const MODULES =
  'path\ttest/cmd\nmod\ttest/Program\t(devel)\t\ndep\tgithub.com/Some/lib\tv1.2.3\th1:x\ndep\told\tv1.0.0\n=>\tnew\tv2.0.0\th1:y\n'

test('an image is listed by its Debian packages, npm packages and Go modules, each once', () => {
  const inventory = openInventory()
  const installed = 'Package: bash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2.37-2+b5\n'
  const removed = 'Package: gone\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1\n'
  inventory.add([
    fileEntry('var/lib/dpkg/status', 'Package: older\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n'),
  ])
  inventory.add([
    fileEntry('var/lib/dpkg/status', `${installed}\n${removed}`),
    fileEntry('var/lib/dpkg/status.d/git', installed.replace('bash', 'git')),
    fileEntry(
      'usr/local/lib/node_modules/npm/node_modules/@npmcli/fs/package.json',
      '{"name": "@npmcli/fs", "version": "5.0.0", "license": "ISC"}',
    ),
    fileEntry('usr/local/lib/node_modules/npm/lib/package.json', '{"type": "module"}'),
    fileEntry('opt/windlass/dist/packages.json', '[{"name": "zod", "version": "4.6.7", "license": "MIT"}]'),
    { header: { name: 'usr/bin/tool', type: 'file', mode: 0o755, size: 600_000 }, read: () => goProgram(MODULES) },
  ])
  expect(inventory.components().map(({ purl }) => purl)).toEqual([
    'pkg:deb/debian/bash@5.2.37-2%2Bb5?arch=amd64&distro=debian-13',
    'pkg:deb/debian/git@5.2.37-2%2Bb5?arch=amd64&distro=debian-13',
    'pkg:golang/github.com/some/lib@v1.2.3',
    'pkg:golang/new@v2.0.0',
    'pkg:golang/stdlib@go1.24.4',
    'pkg:npm/%40npmcli/fs@5.0.0',
    'pkg:npm/zod@4.6.7',
  ])
})

test('a program of another language has no Go modules', () => {
  expect(goModules(Buffer.from('#!/bin/sh\n'))).toEqual([])
})

test('the document depends only on what it describes', () => {
  const subject = { type: 'container', name: 'a', version: '1', purl: 'pkg:oci/a@1', createdAt: new Date(0) } as const
  const [b, c] = [
    { name: 'b', version: '1', purl: 'pkg:npm/b@1', license: 'MIT' },
    { name: 'c', version: '2', purl: 'pkg:npm/c@2' },
  ]
  const text = toCycloneDx(subject, [c, b, c])
  expect(text).toBe(toCycloneDx(subject, [b, c]))
  expect(JSON.parse(text)).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    metadata: { timestamp: '1970-01-01T00:00:00.000Z', component: { type: 'container', 'bom-ref': 'pkg:oci/a@1' } },
    components: [{ name: 'b', licenses: [{ expression: 'MIT' }] }, { name: 'c' }],
    dependencies: [{ ref: 'pkg:oci/a@1', dependsOn: ['pkg:npm/b@1', 'pkg:npm/c@2'] }],
  })
})
