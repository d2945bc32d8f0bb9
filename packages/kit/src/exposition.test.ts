import { expect, test } from 'vitest'
import { exposition } from './exposition.ts'

test('writes type, help and samples, escapes labels and leaves out samples without a value', () => {
  const text = exposition([
    { name: 'a', help: 'First.', samples: [{ value: 1.5 }] },
    {
      name: 'b_total',
      help: 'Second.',
      type: 'counter',
      samples: [
        { labels: { path: 'C:\\"x"\n', of: 'é' }, value: 2 },
        { labels: { path: 'none', of: '' }, value: undefined },
      ],
    },
    { name: 'c', help: 'Empty.', samples: [] },
  ])
  expect(text.split('\n')).toEqual([
    '# HELP a First.',
    '# TYPE a gauge',
    'a 1.5',
    '# HELP b_total Second.',
    '# TYPE b_total counter',
    String.raw`b_total{path="C:\\\"x\"\n",of="é"} 2`,
    '# HELP c Empty.',
    '# TYPE c gauge',
    '',
  ])
})
