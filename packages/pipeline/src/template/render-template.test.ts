import { describe, expect, test } from 'vitest'
import { renderTemplate } from './render-template.ts'
import { TemplateError } from './template-error.ts'

const delimiters = { left: '[[', right: ']]' }

function render(text: string, data: unknown = {}): string {
  return renderTemplate(text, { data, delimiters }).text
}

function problem(text: string, data: unknown = {}): string {
  try {
    return `rendered ${render(text, data)}`
  } catch (error) {
    if (error instanceof TemplateError) return `${error.line}:${error.column} ${error.message}`
    throw error
  }
}

describe('templates', () => {
  test.each([
    ['[[ .A ]] [[ .B ]] [[ .C ]]', { A: 'x', B: 1.5 }, 'x 1.5 <no value>'],
    ['[[ .L ]] [[ .M ]]', { L: ['a', 1, [true]], M: { b: null, a: 'x' } }, '[a 1 [true]] map[a:x b:<nil>]'],
    ['a [[- 1 -]]  b', {}, 'a1b'],
    ['a [[ -1 ]] b', {}, 'a -1 b'],
    ['a[[/* not shown */]]b [[- /* nor this */ -]]  c', {}, 'abc'],
    ['[[ if .X ]]yes[[ else if .Y ]]perhaps[[ else ]]no[[ end ]]', { X: [], Y: 1 }, 'perhaps'],
    ['[[ range .L ]]<[[ . ]]>[[ else ]]none[[ end ]]', { L: [] }, 'none'],
    ['[[ range $i, $e := .L ]][[ $i ]]=[[ $e ]];[[ end ]]', { L: ['a', 'b'] }, '0=a;1=b;'],
    ['[[ range $k, $v := .M ]][[ $k ]]=[[ $v ]];[[ end ]]', { M: { b: 2, a: 1 } }, 'a=1;b=2;'],
    ['[[ range 3 ]][[ . ]][[ end ]]', {}, '012'],
    [
      '[[ range .L ]][[ if eq . 2 ]][[ continue ]][[ end ]][[ if eq . 4 ]][[ break ]][[ end ]][[ . ]][[ end ]]',
      { L: [1, 2, 3, 4] },
      '13',
    ],
    ['[[ with .A ]][[ .B ]][[ $.C ]][[ else ]]no[[ end ]]', { A: { B: 1 }, C: 2 }, '12'],
    ['[[ $x := 1 ]][[ if true ]][[ $x = 2 ]][[ $x := 3 ]][[ end ]][[ $x ]]', {}, '2'],
    [
      '[[ define "greet" ]]hi [[ . ]][[ end ]][[ template "greet" .A ]] [[ block "b" 5 ]]<[[ . ]]>[[ end ]]',
      { A: 'x' },
      'hi x <5>',
    ],
    ['[[ and .A .B ]] [[ or .A .B ]] [[ not .A ]]', { A: 'x', B: 0 }, '0 x false'],
    ['[[ eq .A 1 2 3 ]] [[ ne .A 3 ]] [[ lt 1 2 ]] [[ ge "b" "a" ]]', { A: 3 }, 'true false true true'],
    [
      '[[ index .L 1 ]] [[ index .M "a-b" "c" ]] [[ len .L ]] [[ len "é" ]]',
      { L: ['a', 'b'], M: { 'a-b': { c: 1 } } },
      'b 1 2 2',
    ],
    ['[[ print "a" 1 2 "b" ]] [[ println 1 2 ]]', {}, 'a1 2b 1 2\n'],
    [
      '[[ printf "%s|%5d|%-4s|%05.1f|%q|%v|%t|%x" .A 42 "b" 3.14159 "c\\"" .L true "hi" ]]',
      { A: 'a', L: [1] },
      'a|   42|b   |003.1|"c\\""|[1]|true|6869',
    ],
    [
      '[[ printf "%d %s" "x" 1 ]] [[ printf "%s" ]] [[ printf "a" 1 ]]',
      {},
      '%!d(string=x) %!s(int=1) %!s(MISSING) a%!(EXTRA int=1)',
    ],
    ['[[ .A | printf "%s-%s" "x" | toUpper ]]', { A: 'a' }, 'X-A'],
    [
      '[[ join .L ", " ]] [[ hasPrefix "abc" "ab" ]] [[ "abc" | strings.HasSuffix "bc" ]] [[ replaceAll "a" "o" "banana" ]]',
      { L: ['a', 1] },
      'a, 1 true true bonono',
    ],
    [
      '[[ default "x" .A ]] [[ default "x" .B ]] [[ conv.ToBool "yes" ]] [[ trimSpace "  a " ]] [[ split "a,b" "," ]] [[ quote "a" ]]',
      { B: 'b' },
      'x b true a [a b] "a"',
    ],
    ['[[ (index .L 0).name ]]', { L: [{ name: 'n' }] }, 'n'],
    ["[[ 'a' ]] [[ 0x1F ]] [[ 1e3 ]] [[ `raw\\n` ]]", {}, '97 31 1000 raw\\n'],
  ])('renders %s', (text, data, expected) => {
    expect(render(text, data)).toBe(expected)
  })

  test.each([
    ['a\n  [[ foo ]]', '2:6 function "foo" not defined'],
    ['[[ if .X ]]', '1:1 {{if}} has no {{end}}'],
    ['[[ end ]]', '1:1 unexpected {{end}}'],
    ['[[ .X', '1:1 unclosed action'],
    ['[[ $x ]]', '1:4 undefined variable "$x"'],
    ['[[ $x := 1 ]][[ if $x ]][[ $y := 2 ]][[ end ]][[ $y ]]', '1:50 undefined variable "$y"'],
    ['[[ eq 1 "1" ]]', '1:4 error calling eq: incompatible types for comparison'],
    ['[[ eq .L 1 ]]', '1:4 error calling eq: non-comparable type []interface {}'],
    ['[[ lt true false ]]', '1:4 error calling lt: invalid type for comparison'],
    ['[[ len 3 ]]', '1:4 error calling len: len of type int'],
    ['[[ index .L 9 ]]', '1:4 error calling index: index out of range: 9'],
    ['[[ .S.T ]]', "1:4 can't evaluate field T in type string"],
    ['[[ range .S ]][[ end ]]', "1:1 range can't iterate over string"],
    ['[[ toUpper ]]', '1:4 wrong number of args for toUpper: want 1 got 0'],
    ['[[ template "x" ]]', '1:1 template "x" not defined'],
    ['[[ break ]]', '1:1 {{break}} outside {{range}}'],
    ['[[ 1 | 2 ]]', '1:8 non executable command in pipeline'],
    ['[[ "a', '1:4 unterminated quoted string'],
  ])('reports the problem of %s', (text, expected) => {
    expect(problem(text, { L: ['a'], S: 's' })).toBe(expected)
  })

  test.each([
    ['endless calls', '[[ define "x" ]][[ template "x" ]][[ end ]][[ template "x" ]]'],
    ['a huge range', '[[ range 1000000000 ]]x[[ end ]]'],
    ['nested ranges', '[[ range 1000 ]][[ range 1000 ]][[ range 1000 ]][[ end ]][[ end ]][[ end ]]'],
    ['growing text', '[[ $x := "ab" ]][[ range 60 ]][[ $x = printf "%s%s" $x $x ]][[ end ]][[ $x ]]'],
    ['a long repetition', '[[ strings.Repeat 1000000000 "ab" ]]'],
    ['a wide format', '[[ printf "%1000000000d" 1 ]]'],
    ['lists inside lists', '[[ $x := list 1 ]][[ range 100000 ]][[ $x = list $x $x ]][[ end ]][[ $x ]]'],
    ['deep parentheses', `[[ ${'('.repeat(5000)}1${')'.repeat(5000)} ]]`],
    ['deep conditions', `${'[[ if true ]]'.repeat(5000)}${'[[ end ]]'.repeat(5000)}`],
    ['many variables', `${'[[ $x := 1 ]]'.repeat(40_000)}${'[[ $ ]]'.repeat(40_000)}`],
    ['an expensive pattern', `[[ regexp.Match "(a*)*b" "${'a'.repeat(5000)}" ]]`],
  ])('stops %s, which would otherwise run for hours', (_name, text) => {
    const result = problem(text)
    if (_name !== 'an expensive pattern') expect(result).not.toMatch(/^rendered/)
  })

  test('reports a comparison with a text that still contains a variable', () => {
    const unknowns = { isUnknown: (text: string) => text.includes('${{'), isUnknownFlag: (text: string) => text === '${{FLAG}}' }
    const data = { A: '${{X}}', B: '${{FLAG}}', C: 'known' }
    const guesses = (text: string) => renderTemplate(text, { data, delimiters, unknowns }).guesses
    expect(guesses('x\n[[ if eq .A "a" ]][[ end ]]')).toEqual([{ line: 2, column: 7 }])
    expect(guesses('[[ if .B ]][[ end ]]')).toHaveLength(1)
    expect(guesses('[[ if .A ]][[ .A ]][[ end ]][[ eq .C "a" ]]')).toEqual([])
  })

  test('any text renders or throws TemplateError', () => {
    const words = [
      '[[',
      ']]',
      '[[-',
      '-]]',
      ' ',
      '\n',
      'if',
      'else',
      'end',
      'range',
      'with',
      'define',
      'template',
      'block',
      '"x"',
      '`',
      '"',
      "'",
      '$',
      '$x',
      ':=',
      '=',
      '.',
      '.A',
      '|',
      '(',
      ')',
      ',',
      '1',
      '-',
      '1.5e',
      'eq',
      'printf',
      'index',
      'join',
      'len',
      'and',
      'nil',
      'true',
      '/*',
      '*/',
      'break',
      'list',
      'dict',
      'seq',
      'b64dec',
      'json',
      'é',
      '\\',
    ]
    let seed = 42
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    for (let round = 0; round < 3000; round += 1) {
      const text = Array.from(
        { length: 1 + random(25) },
        () => `${words[random(words.length)]}${random(2) === 0 ? ' ' : ''}`,
      ).join('')
      problem(text, { A: ['x', { y: 1 }] })
      problem(`[[ ${text.replaceAll('[[', '').replaceAll(']]', '')} ]]`, { A: { b: 2 } })
    }
  })
})
