/** The images of tests (`images/names.json`): public names for machines with internet access, local ones elsewhere. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const Names = z.record(z.string(), z.object({ public: z.string(), local: z.string() }))
const names = Names.parse(JSON.parse(readFileSync(new URL('../../../../images/names.json', import.meta.url), 'utf8')))

/** Returns the name of `shell`, `tools`, ... on this machine. */
export function image(name: string): string {
  const found = names[name]
  if (found === undefined) throw new Error(`images/names.json has no ${name}`)
  return process.env['WINDLASS_IMAGES'] === 'public' ? found.public : found.local
}
