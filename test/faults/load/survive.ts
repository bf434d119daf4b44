import { type Deployment, type DeploymentShape, deploy } from '../deployment/deployment.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import type { Wires } from '../nemesis/wires.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom, type Random } from '../random.ts';
import { type Load, type Pace, startLoad } from './load.ts';

/** A deployment under load, for a test to break. */
export interface UnderLoad extends Deployment {
  readonly load: Load;
  readonly random: Random;
  /** Where the shape asks for them. */
  readonly wires: Wires;
  /** Names processes that run beside the deployment from now on. */
  isJoinedBy(parts: Pick<Deployment, 'webs' | 'workers'>): void;
}

/**
 * Deploys, lets a test break things under load, waits until deliveries get through again, and checks with the oracle that
 * nothing was lost. The draws are those of `name`.
 */
export async function surviveUnderLoad(
  name: string,
  { pace, ...shape }: DeploymentShape & { readonly pace?: Pace },
  onOpen: OnOpen,
  breaks: (broken: UnderLoad) => Promise<void>,
): Promise<Load> {
  const random = createRandom(`${name} ${shape.backend}`);
  const deployment = await deploy(shape, onOpen);
  const load = await startLoad(deployment, random, onOpen, pace);
  let all = deployment;
  const isJoinedBy: UnderLoad['isJoinedBy'] = ({ webs, workers }) => {
    all = { ...all, webs: [...all.webs, ...webs], workers: [...all.workers, ...workers] };
  };
  await breaks({ ...deployment, load, random, wires: deployment.wires as Wires, isJoinedBy });
  await load.isAccepted(3);
  await load.finish();
  await expectNothingLost(all, load);
  return load;
}
