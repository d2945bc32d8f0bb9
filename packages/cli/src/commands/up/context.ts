/** The context of a server of `windlass up`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { readConfigFile, saveContext } from '../../session/config-file.ts'
import type { UpProcess } from './process.ts'

const LOCAL = 'local'

/** Saves the context and makes it the current one. It is called `local`, or `local-PORT` beside the server of another folder. */
export function saveLocalContext(configFile: string, { url, adminKey }: Pick<UpProcess, 'url' | 'adminKey'>): void {
  const { contexts } = readConfigFile(configFile)
  const own = contexts.find(({ apiKey }) => apiKey === adminKey)
  const isFree = contexts.every((context) => context.name !== LOCAL || context.url === url)
  const name = own?.name ?? (isFree ? LOCAL : `${LOCAL}-${new URL(url).port}`)
  saveContext(configFile, { name, url, apiKey: adminKey }, { use: true })
}

/** Throws for a folder with the database of a server at the place of the folder of `windlass up`, which would start an empty server. */
export function requireOwnFolder(dataDir: string): void {
  if (!existsSync(join(dataDir, 'windlass.db')) || existsSync(join(dataDir, 'server'))) return
  throw fault('usage', {
    message: `${dataDir} has the data of a server (windlass.db), which \`windlass up\` keeps in ${join(dataDir, 'server')}.`,
    hint: `Restore with --data ${join(dataDir, 'server')}, or move the files there.`,
  })
}
