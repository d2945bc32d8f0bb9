import type { Invocation } from '../command.ts'

/** `components download|update`: the original fetched helper programs; here everything is part of the program and of the image. */
export async function explainComponents({ out }: Invocation<object>): Promise<void> {
  out.note('There is nothing to download: this program brings everything along but Helm, which it takes from the PATH or --helm.')
}
