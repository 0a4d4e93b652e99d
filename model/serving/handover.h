// From the pool that computes prompts to the one that decodes: disaggregated serving.
//
//   prompt's end   the replica keeps the blocks and offers the request; the router passes the offer
//                  to a replica that decodes, which takes offers in the order in which they come
//   room there     that replica reserves blocks and pulls: the other's devices send keys and
//                  values, each what the receiving device's share of layers and heads needs
//   all have come  the request decodes on; the blocks of the first replica are free
//
// Keys and values that go layer by layer (Spec::keys_by_layer) begin earlier:
//
//   first iteration of the prompt   the replica offers the request; room there, as above
//   from then on                    what is computed by then is sent at once, and of each later
//                                   iteration the layers that are done; the computation waits for
//                                   none of it
//   prompt's end                    the replica keeps the blocks and says so to the other one, once
//                                   that has room
//   all have come                   as above
//
// A prompt then holds all its blocks from its first iteration on (BatchFormer). So one that has
// room at the other pool will be done, and no two wait for each other.
//
// A request that later loses its blocks computes its prompt again where it decodes.
#pragma once

#include "model/serving/replica.h"
#include "pdes/context.h"

namespace exawarp::model::serving {

// replica.cc: requests here times time, and a kSchedule in an instant.
void account_present(Replica::State& s, pdes::Context& ctx);
void ask_for_schedule(Replica::State& s, pdes::Context& ctx);

// On a replica that hands over.
void hand_over(Replica::State& s, const Live& request, const Spec& spec, pdes::Context& ctx);
void take_pull(Replica::State& s, const PullEvent& pull, const Spec& spec, pdes::Context& ctx);
// Of the batch formed last, which the devices were told of.
void send_keys_of_batch(Replica::State& s, const Spec& spec, pdes::Context& ctx);
void let_go(Replica::State& s, const TakenEvent& taken, const Spec& spec, pdes::Context& ctx);

// On one that takes over.
void take_offer(Replica::State& s, const Offer& offer, const Spec& spec, pdes::Context& ctx);
void take_offers(Replica::State& s, const Spec& spec, pdes::Context& ctx);
void count_keys(Replica::State& s, const KeysCameEvent& came, const Spec& spec,
                pdes::Context& ctx);
void note_prompt(Replica::State& s, const PromptedEvent& prompted, const Spec& spec,
                 pdes::Context& ctx);

}  // namespace exawarp::model::serving
