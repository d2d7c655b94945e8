// SPDX-License-Identifier: Apache-2.0
// Stages of a query in spiral-rs (blyssprivacy/sdk, lib/spiral-rs and lib/server), called through its public
// functions, on a full database of random items. Prints a line of JSON for each sample, in seconds.
//
//     spiral_rs_stages PARAMETERS.json SAMPLES
use rand::{rngs::SmallRng, Rng, SeedableRng};
use spiral_rs::{arith::*, client::*, gadget::*, params::*, poly::*, util::*};
use spiral_server::{
    compute::{dot_product::*, fold::*, pack::*, query_expansion::*},
    db::{aligned_memory::AlignedMemory64, loading::pack_ntt_poly, sparse_db::SparseDb},
    server::encode,
};

/// Of the CPU, since the last call.
fn seconds(since: &mut f64) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    let now = time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9;
    let passed = now - *since;
    *since = now;
    passed
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let config = std::fs::read_to_string(&args[1]).expect("parameters");
    let params = params_from_json(&config);
    let samples: usize = args[2].parse().expect("samples");
    let (dim0, columns, squares) = (1 << params.db_dim_1, 1 << params.db_dim_2, params.n * params.n);
    let target = 1234 % (dim0 * columns);

    let mut rng = SmallRng::seed_from_u64(1);
    let mut db = SparseDb::new();
    let mut wanted = PolyMatrixRaw::zero(&params, params.instances * params.n, params.n);
    for polynomial in 0..params.instances * squares {
        for item in 0..dim0 * columns {
            let mut raw = PolyMatrixRaw::zero(&params, 1, 1);
            for x in raw.data.as_mut_slice() {
                *x = rng.gen::<u64>() % params.pt_modulus;
            }
            if item == target {
                let (instance, place) = (polynomial / squares, polynomial % squares);
                wanted.copy_into(&raw, instance * params.n + place / params.n, place % params.n);
            }
            for x in raw.data.as_mut_slice() {
                *x = recenter_mod(*x, params.pt_modulus, params.modulus);
            }
            db.add(polynomial * dim0 * columns + item, &pack_ntt_poly(&raw.ntt()));
        }
    }

    let mut client = Client::init(&params);
    let keys = client.generate_keys();
    let keys_bytes = keys.serialize().len();
    for _ in 0..samples {
        let query = client.generate_query(target);
        let query_bytes = query.serialize().len();
        let mut clock = 0.0;
        seconds(&mut clock);

        let bits = params.t_gsw * params.db_dim_2;
        let rounds = log2_ceil_usize(bits + dim0);
        let mut expanded: Vec<_> = (0..1 << rounds).map(|_| PolyMatrixNTT::zero(&params, 2, 1)).collect();
        expanded[0].copy_into(&query.ct.as_ref().unwrap().ntt(), 0, 0);
        let left = keys.v_expansion_left.as_ref().unwrap();
        let right = keys.v_expansion_right.as_ref().unwrap_or(left);
        coefficient_expansion(
            &mut expanded,
            rounds,
            log2_ceil_usize(bits),
            &params,
            left,
            right,
            &params.get_v_neg1(),
            bits,
            None,
        );
        let rows: Vec<_> = (0..dim0).map(|i| expanded[2 * i].clone()).collect();
        let mut first_query = AlignedMemory64::new(dim0 * 2 * params.poly_len);
        spiral_server::compute::query_expansion::reorient_reg_ciphertexts(&params, first_query.as_mut_slice(), &rows);
        let expansion = seconds(&mut clock);

        let scalars: Vec<_> = (0..bits).map(|i| expanded[2 * i + 1].clone()).collect();
        let mut gsw: Vec<_> =
            (0..params.db_dim_2).map(|_| PolyMatrixNTT::zero(&params, 2, 2 * params.t_gsw)).collect();
        regev_to_gsw(&mut gsw, &scalars, &keys.v_conversion.as_ref().unwrap()[0], &params, 1, 0);
        let negated = get_v_folding_neg(&params, &gsw);
        let conversion = seconds(&mut clock);

        let (mut first, mut folding, mut packing) = (0.0, 0.0, 0.0);
        let mut packed = Vec::new();
        for instance in 0..params.instances {
            let mut results = Vec::new();
            for place in 0..squares {
                let mut products: Vec<_> = (0..columns).map(|_| PolyMatrixNTT::zero(&params, 2, 1)).collect();
                multiply_reg_by_sparse_database(
                    &mut products,
                    &db,
                    first_query.as_slice(),
                    &params,
                    dim0,
                    columns,
                    instance * squares + place,
                );
                first += seconds(&mut clock);
                let mut raw: Vec<_> = products.iter().map(|x| x.raw()).collect();
                fold_ciphertexts(&params, &mut raw, &gsw, &negated);
                results.push(raw[0].clone());
                folding += seconds(&mut clock);
            }
            packed.push(pack(&params, &results, keys.v_packing.as_ref()).raw());
            packing += seconds(&mut clock);
        }
        let reply = encode(&params, &packed);
        packing += seconds(&mut clock);
        let got = client.decode_response(&reply);
        let p_bits = log2_ceil(params.pt_modulus) as usize;
        let right = got == wanted.to_vec(p_bits, params.modp_words_per_chunk());
        println!(
            "{{\"expansion\": {expansion}, \"conversion\": {conversion}, \"first_dimension\": {first}, \
             \"folding\": {folding}, \"packing\": {packing}, \"keys\": {keys_bytes}, \"query\": {query_bytes}, \
             \"reply\": {}, \"right\": {right}}}",
            reply.len()
        );
    }
}
