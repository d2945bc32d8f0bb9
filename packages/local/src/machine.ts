/** What this machine has for local runs besides Docker: the remotes of git, and the logins of `docker login`. */
export { parseRemote, type Remote } from './git-facts.ts'
export { parseRegistryLogins, readRegistryLogins, type RegistryLogin } from './registry-logins.ts'
