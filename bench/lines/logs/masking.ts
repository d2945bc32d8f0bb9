/** Throughput of masking secrets in output, compared with a copy of the same bytes. */
import { buildAutomaton, Masker } from '../../../packages/engine/src/output/mask.ts'
import { secretForms } from '../../../packages/engine/src/output/secret-forms.ts'
import { sample, type Line, type Row } from '../../row.ts'

const SECRETS = 100
const BYTES = 32_000_000
const RUNS = 7

export const masking: Line = { name: 'masking', measure }

async function measure(): Promise<Row[]> {
  const secrets = Array.from({ length: SECRETS }, (_, index) => `secret-${index}-${'x'.repeat(index % 30)}Q7`)
  const automaton = buildAutomaton(secretForms(secrets))
  const line = Buffer.from('2026-11-20 line 1234567 of a build that says something about sec and s3 buckets\n'.repeat(400))
  const overAll = async (work: (bytes: Buffer) => unknown): Promise<void> => {
    for (let bytes = 0; bytes < BYTES; bytes += line.length) work(line)
  }
  const masker = new Masker(automaton)
  const value = await sample(RUNS, 1, () => overAll((bytes) => masker.push(bytes)))
  const floor = await sample(RUNS, 1, () => overAll((bytes) => Buffer.from(bytes)))
  return [
    {
      name: 'masking',
      figure: `${BYTES / 1_000_000} MB of output with ${SECRETS} secrets, none of which occurs in it`,
      unit: 'ms',
      value,
      warmUp: 1,
      floor: { what: 'a copy of the same bytes', value: floor },
      goal: 640,
    },
  ]
}
