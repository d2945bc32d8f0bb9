import type { Invocation } from '../../command.ts'

/** Runs `components download|update`. The Codefresh CLI downloads helper programs; Windlass needs none but Helm. */
export async function explainComponents({ out }: Invocation<object>): Promise<void> {
  out.note('There is nothing to download. Helm is taken from the PATH or --helm.')
}
