import { expect, test } from 'vitest'
import { parseExports } from './exports.ts'

test('reads single lines, multi-line blocks and masked values', () => {
  const { variables, problems } = parseExports(
    'A=1\n--mask TOKEN=t0ken\nTEXT<<END\nline 1\n\nline=3\nEND\nexport B=2=2\nA=again\n',
  )
  expect(problems).toEqual([])
  expect(variables).toEqual([
    { name: 'TOKEN', value: 't0ken', secret: true },
    { name: 'TEXT', value: 'line 1\n\nline=3', secret: false },
    { name: 'B', value: '2=2', secret: false },
    { name: 'A', value: 'again', secret: false },
  ])
})

test('reports and skips lines that are not variables', () => {
  const { variables, problems } = parseExports('no sign\n1A=x\nOPEN<<END\nnever closed\nC=3')
  expect(variables.map(({ name }) => name)).toEqual(['C'])
  expect(problems).toHaveLength(4)
})
