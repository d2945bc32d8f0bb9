import { expect, test } from 'vitest'
import { MAX_SLICE, toSlice, type Slice } from './slices.ts'

const items = Array.from({ length: 7 }, (_, number) => `item-${number}`)
const page = (pagination?: Parameters<typeof toSlice>[2]): Slice<string> => toSlice(items, (item) => item, pagination)
const nodes = (slice: Slice<string>): string[] => slice.edges.map(({ node }) => node.replace('item-', ''))

test('pages follow each other forwards and backwards, and cover the list once', () => {
  for (const length of [1, 2, 3, 7, 9]) {
    const forwards: string[] = []
    for (let after: string | undefined = ''; after !== undefined;) {
      const slice: Slice<string> = page({ after, first: length })
      forwards.push(...nodes(slice))
      expect(slice.pageInfo.hasPrevPage).toBe(after !== '')
      after = slice.pageInfo.hasNextPage ? slice.pageInfo.endCursor : undefined
    }
    expect(forwards.join('')).toBe('0123456')
    const backwards: string[] = []
    for (let before: string | undefined = ''; before !== undefined;) {
      const slice: Slice<string> = page({ before, last: length })
      backwards.unshift(...nodes(slice))
      before = slice.pageInfo.hasPrevPage ? slice.pageInfo.startCursor : undefined
    }
    expect(backwards.join('')).toBe('0123456')
  }
})

test('a page without a length is the whole list up to the limit, and an empty one has no cursors', () => {
  expect(nodes(page())).toHaveLength(items.length)
  expect(nodes(page(null))).toHaveLength(items.length)
  expect(toSlice([], String)).toEqual({ edges: [], pageInfo: { hasNextPage: false, hasPrevPage: false } })
  expect(page({ first: 0 }).edges).toEqual([])
  const many = toSlice([...Array(MAX_SLICE + 1).keys()], String)
  expect([many.edges.length, many.pageInfo.hasNextPage]).toEqual([MAX_SLICE, true])
  expect(() => page({ after: 'bm9uZQ' })).toThrow(/does not belong to this list/)
})
