/** One measurement of `language.ts` in its own process. Arguments: `compile` or `parse`, and a file. Prints milliseconds. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { compile } from '@windlass/pipeline'

const [what, file = ''] = process.argv.slice(2)
const text = readFileSync(file, 'utf8')
const startedAt = performance.now()
if (what === 'parse') parse(text)
else {
  const { problems } = compile({ text, file })
  const broken = problems.find(({ severity }) => severity === 'error')
  if (broken !== undefined) throw new Error(broken.message)
}
console.log(performance.now() - startedAt)
