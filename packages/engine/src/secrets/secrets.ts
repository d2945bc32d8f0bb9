/** The secrets of an attempt as a masking automaton, rebuilt only when a step exports another secret. */
import type { Snapshot } from '@windlass/plan'
import { buildAutomaton, type Automaton } from '../output/mask.ts'
import { secretForms } from '../output/secret-forms.ts'
import type { AttemptInput } from '../attempt/input.ts'
import { kubeconfigSecrets } from './private-files.ts'

/** Returns the automaton for a snapshot. Additional secrets (credentials written in a step) are masked in that step only. */
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
    const values = [
      ...snapshot.exports.filter(({ secret }) => secret).map(({ value }) => value),
      ...Object.values(snapshot.steps).flatMap(({ sealed, output }) => (sealed?.outputs ?? []).map((name) => output[name] ?? '')),
    ]
    if (values.length !== exported.length || values.some((value, index) => value !== exported[index])) {
      exported = values
      automaton = buildAutomaton(secretForms([...fixed, ...values]))
    }
    return automaton
  }
}
