/** The secrets of an attempt as the automaton that masks them; built anew only when a step has exported another one. */
import type { Snapshot } from '@windlass/plan'
import { buildAutomaton, type Automaton } from '../output/mask.ts'
import { secretForms } from '../output/secret-forms.ts'
import type { AttemptInput } from './input.ts'
import { kubeconfigSecrets } from './private-files.ts'

/** Further secrets (credentials written in a step) are masked in that step alone. */
export type SecretSource = (snapshot: Snapshot) => Automaton | undefined

export function secretsOf(input: AttemptInput): SecretSource {
  const fixed = [
    ...Object.values(input.secrets),
    input.buildToken,
    ...input.git.flatMap(({ password, sshPrivateKey }) => [password, sshPrivateKey]),
    ...input.registries.map(({ password }) => password),
    ...kubeconfigSecrets(input),
  ].filter((value) => value !== undefined)
  let exported: string[] = []
  let automaton = buildAutomaton(secretForms(fixed))
  return (snapshot) => {
    const values = snapshot.exports.filter(({ secret }) => secret).map(({ value }) => value)
    if (values.length !== exported.length || values.some((value, index) => value !== exported[index])) {
      exported = values
      automaton = buildAutomaton(secretForms([...fixed, ...values]))
    }
    return automaton
  }
}
