/** The version of this release, from which servers, agents, engines and the CLI read theirs. `scripts/versions.test.ts` lists the files that repeat it. */
import manifest from '../package.json' with { type: 'json' }

export const VERSION = manifest.version

/** Returns the reference of an image of this release. */
export function windlassImage(
  name: 'windlass' | 'dind' | 'dind-rootless' | 'tools' | 'buildkit' | 'cosign' | 'deploy' | 'gitlab-helper',
): string {
  return `windlass/${name}:${VERSION}`
}
