import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

/** What the application says to somebody. */
export function greeting(name) {
  const who = name?.trim() || 'world'
  return `Hello, ${who}! This is version ${version}.`
}
