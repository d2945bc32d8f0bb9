import { expect, test } from 'vitest'
import { fileEntry, type Entry } from '../tar.ts'
import { normalizeLayer } from './layer.ts'

const link = (name: string, linkname: string): Entry => ({ header: { name, type: 'link', linkname } })
const shapes = (entries: readonly Entry[]): unknown[] =>
  entries.map(({ header: { name, type, linkname }, read }) => [name, type, linkname ?? read?.().toString()])

test('the first name of a file with hard links has the content, whichever name the archive begins with', () => {
  const expected = [
    ['bin/perl', 'file', 'program'],
    ['bin/perl5', 'link', 'bin/perl'],
    ['bin/perl6', 'link', 'bin/perl'],
  ]
  const names = [fileEntry('./bin/perl6', 'program'), link('./bin/perl', './bin/perl6'), link('./bin/perl5', './bin/perl6')]
  expect(shapes(normalizeLayer(names))).toEqual(expected)
  const others = [fileEntry('bin/perl', 'program'), link('bin/perl5', 'bin/perl'), link('bin/perl6', 'bin/perl')]
  expect(shapes(normalizeLayer(others))).toEqual(expected)
})

test('a link to a file of a lower layer and a deleted file stay', () => {
  const entries = [link('b', 'below'), fileEntry('etc/.wh.gone', '')]
  expect(shapes(normalizeLayer(entries))).toEqual([
    ['b', 'link', 'below'],
    ['etc/.wh.gone', 'file', ''],
  ])
})

test('the day of a build and the mirror of its machine are not in a layer', () => {
  const entries = [
    fileEntry('etc/shadow', 'root:*:20780:0:99999:7:::\nnode:!:20781:0:99999:7:::\n'),
    fileEntry('etc/apt/sources.list.d/debian.sources', 'URIs: http://mirror.test/debian\n'),
  ]
  const [sources = '', shadow = ''] = normalizeLayer(entries).map(({ read }) => read?.().toString())
  expect(shadow).toBe('root:*:1:0:99999:7:::\nnode:!:1:0:99999:7:::\n')
  expect(sources).not.toContain('mirror.test')
})

test('replaces files by their path', () => {
  const replacements = new Map([['usr/share/x', () => 'new']])
  expect(shapes(normalizeLayer([fileEntry('usr/share/x', 'old')], replacements))).toEqual([['usr/share/x', 'file', 'new']])
})
